"""XGBoost and LightGBM through onnxmltools, and inside skl2onnx pipelines."""

import lightgbm
import numpy as np
import onnx
import onnxmltools
import xgboost
from onnxmltools.convert.common.data_types import FloatTensorType

import case
from sklearn_cases import BINARY, CLASSES, TARGET, TARGETS, WITH_GAPS, X

SMALL = dict(n_estimators=8, max_depth=3, random_state=0, n_jobs=1)
POSITIVE_TARGET = np.exp(TARGET / 4)


def _feeds(data):
    return [{"X": rows} for rows in (data[:1], data[:17], data[40:20:-1])]


def _loaded(model, data):
    return onnx.load_from_string(model.SerializeToString()), _feeds(data)


def _xgboost(make, data, target, opset=15):
    model = make().fit(data, target)
    kinds = [("X", FloatTensorType([None, data.shape[1]]))]
    return _loaded(
        onnxmltools.convert_xgboost(model, initial_types=kinds, target_opset=opset), data)


def _lightgbm(make, data, target, opset=15, **options):
    model = make().fit(data, target)
    kinds = [("X", FloatTensorType([None, data.shape[1]]))]
    return _loaded(
        onnxmltools.convert_lightgbm(
            model, initial_types=kinds, target_opset=opset, zipmap=False, **options), data)


def _lightgbm_categories(target, make):
    data = X.copy()
    data[:, 0] = np.floor(np.abs(X[:, 0]) * 4)
    return _lightgbm(lambda: make().set_params(categorical_feature=[0]), data, target)


def cases():
    yield from _xgboost_cases()
    yield from _lightgbm_cases()


def _xgboost_cases():
    def one(name, make, data, target, fast=False, **more):
        return case.Case(
            f"xgboost_{name}", lambda: _xgboost(make, data, target, **more), fast)

    classifier, regressor = xgboost.XGBClassifier, xgboost.XGBRegressor
    yield one("classifier", lambda: classifier(**SMALL), X, CLASSES, True)
    yield one("classifier_binary", lambda: classifier(**SMALL), X, BINARY, True)
    yield one("classifier_gaps", lambda: classifier(**SMALL), WITH_GAPS, CLASSES)
    yield one(
        "classifier_softmax", lambda: classifier(objective="multi:softmax", **SMALL), X, CLASSES)
    yield one("classifier_base", lambda: classifier(base_score=0.7, **SMALL), X, BINARY)
    yield one(
        "classifier_dart", lambda: classifier(booster="dart", rate_drop=0.3, **SMALL), X, BINARY)
    yield one("regressor", lambda: regressor(**SMALL), X, TARGET, True)
    yield one("regressor_gaps", lambda: regressor(**SMALL), WITH_GAPS, TARGET)
    yield one("regressor_targets", lambda: regressor(**SMALL), X, TARGETS)
    for objective in ("reg:logistic", "count:poisson", "reg:gamma", "reg:tweedie"):
        target = BINARY if objective == "reg:logistic" else POSITIVE_TARGET
        yield one(
            "regressor_" + objective.replace(":", "_"),
            lambda o=objective: regressor(objective=o, **SMALL), X, target)
    yield one("regressor_linear", lambda: regressor(booster="gblinear"), X, TARGET)
    yield one("forest", lambda: xgboost.XGBRFClassifier(**SMALL), X, CLASSES)
    yield one("forest_regressor", lambda: xgboost.XGBRFRegressor(**SMALL), X, TARGET)
    yield one("regressor_opset9", lambda: regressor(**SMALL), X, TARGET, opset=9)


def _lightgbm_cases():
    def one(name, make, data, target, fast=False, **more):
        return case.Case(
            f"lightgbm_{name}", lambda: _lightgbm(make, data, target, **more), fast)

    small = dict(SMALL, min_child_samples=5, verbose=-1)
    classifier, regressor = lightgbm.LGBMClassifier, lightgbm.LGBMRegressor
    yield one("classifier", lambda: classifier(**small), X, CLASSES, True)
    yield one("classifier_binary", lambda: classifier(**small), X, BINARY, True)
    yield one("classifier_gaps", lambda: classifier(**small), WITH_GAPS, CLASSES)
    yield one("regressor", lambda: regressor(**small), X, TARGET, True)
    yield one("regressor_gaps", lambda: regressor(**small), WITH_GAPS, TARGET)
    yield one("regressor_split", lambda: regressor(**small), X, TARGET, split=3)
    for boosting in ("dart", "rf"):
        more = dict(subsample=0.7, subsample_freq=1) if boosting == "rf" else {}
        yield one(
            f"regressor_{boosting}",
            lambda b=boosting, m=more: regressor(boosting_type=b, **m, **small), X, TARGET)
    for objective in ("poisson", "gamma", "tweedie", "quantile", "huber"):
        yield one(
            f"regressor_{objective}",
            lambda o=objective: regressor(objective=o, **small), X, POSITIVE_TARGET)
    yield one("ovr", lambda: classifier(objective="multiclassova", **small), X, CLASSES)
    yield case.Case(
        "lightgbm_categories",
        lambda: _lightgbm_categories(CLASSES, lambda: classifier(**small)))
    yield one("classifier_opset9", lambda: classifier(**small), X, CLASSES, opset=9)
