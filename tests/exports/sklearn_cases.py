"""Every estimator skl2onnx converts, fitted on small data."""

import numpy as np
import onnx
import sklearn
from skl2onnx import to_onnx
from skl2onnx._supported_operators import sklearn_operator_name_map
from skl2onnx.common._registration import get_converter
from skl2onnx.common.data_types import (
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)
from sklearn import (
    calibration,
    compose,
    ensemble,
    feature_extraction,
    feature_selection,
    gaussian_process,
    impute,
    linear_model,
    model_selection,
    multiclass,
    multioutput,
    naive_bayes,
    neighbors,
    pipeline,
    preprocessing,
    svm,
    tree,
)

import case

ROWS, FEATURES = 120, 6
_random = np.random.default_rng(7)
X = _random.normal(size=(ROWS, FEATURES)).astype(np.float32)
POSITIVE = np.abs(X)
COUNTS = _random.integers(0, 4, size=(ROWS, FEATURES))
WITH_GAPS = np.where(_random.random(X.shape) < 0.15, np.float32("nan"), X)
_score = X @ _random.normal(size=FEATURES) + 0.3 * _random.normal(size=ROWS)
CLASSES = np.digitize(_score, np.quantile(_score, [0.33, 0.66]))
BINARY = (_score > 0).astype(np.int64)
NAMES = np.array(["low", "middle", "high"], dtype=object)[CLASSES]
TARGET = _score.astype(np.float32)
TARGETS = np.stack([_score, X[:, 0] - X[:, 2]], 1).astype(np.float32)
WORDS = np.array(["red", "green", "blue", "none"])[COUNTS[:, :2]]
TEXT = np.array(
    [" ".join(np.array("a quick brown fox jumps over the lazy dog".split())[i])
     for i in _random.integers(0, 9, size=(ROWS, 5))]
)
TREES = dict(n_estimators=7, random_state=0)

# Estimators that need arguments, other data or another target than the default: a function that
# makes the estimator, the data to fit, and the target (None: none).
_logistic = linear_model.LogisticRegression
SPECIAL = {
    "AdaBoostClassifier": (lambda: ensemble.AdaBoostClassifier(**TREES), X, CLASSES),
    "AdaBoostRegressor": (lambda: ensemble.AdaBoostRegressor(**TREES), X, TARGET),
    "BaggingClassifier": (lambda: ensemble.BaggingClassifier(**TREES), X, CLASSES),
    "BaggingRegressor": (lambda: ensemble.BaggingRegressor(**TREES), X, TARGET),
    "BayesianGaussianMixture": (
        lambda: sklearn.mixture.BayesianGaussianMixture(n_components=3, random_state=0), X, None),
    "Binarizer": (lambda: preprocessing.Binarizer(threshold=0.2), X, None),
    "CastRegressor": (
        lambda: _sklapi("CastRegressor")(tree.DecisionTreeRegressor(max_depth=3)), X, TARGET),
    "CategoricalNB": (naive_bayes.CategoricalNB, COUNTS, CLASSES),
    "ColumnTransformer": (
        lambda: compose.ColumnTransformer(
            [("a", preprocessing.StandardScaler(), [0, 1]),
             ("b", preprocessing.MinMaxScaler(), [3, 5])], remainder="passthrough"), X, None),
    "ComplementNB": (naive_bayes.ComplementNB, POSITIVE, CLASSES),
    "CountVectorizer": (
        lambda: feature_extraction.text.CountVectorizer(ngram_range=(1, 2)), TEXT, None),
    "ExtraTreesClassifier": (lambda: ensemble.ExtraTreesClassifier(**TREES), X, NAMES),
    "ExtraTreesRegressor": (lambda: ensemble.ExtraTreesRegressor(**TREES), X, TARGETS),
    "FeatureUnion": (
        lambda: pipeline.FeatureUnion(
            [("a", preprocessing.StandardScaler()), ("b", preprocessing.MinMaxScaler())]),
        X, None),
    "FunctionTransformer": (preprocessing.FunctionTransformer, X, None),
    "GammaRegressor": (linear_model.GammaRegressor, X, np.exp(TARGET / 4)),
    "GaussianMixture": (lambda: sklearn.mixture.GaussianMixture(n_components=3, random_state=0), X, None),
    "GaussianProcessClassifier": (gaussian_process.GaussianProcessClassifier, X, BINARY),
    "GaussianRandomProjection": (
        lambda: sklearn.random_projection.GaussianRandomProjection(3, random_state=0), X, None),
    "GradientBoostingClassifier": (
        lambda: ensemble.GradientBoostingClassifier(**TREES), X, CLASSES),
    "GradientBoostingRegressor": (lambda: ensemble.GradientBoostingRegressor(**TREES), X, TARGET),
    "GridSearchCV": (
        lambda: model_selection.GridSearchCV(_logistic(), {"C": [0.1, 1.0]}), X, CLASSES),
    "HistGradientBoostingClassifier": (
        lambda: ensemble.HistGradientBoostingClassifier(max_iter=5), WITH_GAPS, CLASSES),
    "HistGradientBoostingRegressor": (
        lambda: ensemble.HistGradientBoostingRegressor(max_iter=5), WITH_GAPS, TARGET),
    "IsolationForest": (lambda: ensemble.IsolationForest(**TREES), X, None),
    "KBinsDiscretizer": (
        lambda: preprocessing.KBinsDiscretizer(4, encode="onehot-dense"), X, None),
    "KMeans": (lambda: sklearn.cluster.KMeans(4, n_init=1, random_state=0), X, None),
    "KNNImputer": (lambda: impute.KNNImputer(n_neighbors=3), WITH_GAPS, None),
    "KNeighborsTransformer": (lambda: neighbors.KNeighborsTransformer(n_neighbors=3), X, None),
    "KernelPCA": (
        lambda: sklearn.decomposition.KernelPCA(3, kernel="rbf", random_state=0), X, None),
    "KernelCenterer": (preprocessing.KernelCenterer, X @ X.T, None),
    "LabelBinarizer": (preprocessing.LabelBinarizer, CLASSES.reshape(-1, 1), None),
    "LabelEncoder": (preprocessing.LabelEncoder, NAMES, None),
    "LinearRegression": (linear_model.LinearRegression, X, TARGETS),
    "LocalOutlierFactor": (
        lambda: neighbors.LocalOutlierFactor(n_neighbors=5, novelty=True), X, None),
    "MLPClassifier": (
        lambda: sklearn.neural_network.MLPClassifier((8, 5), max_iter=40, random_state=0),
        X, CLASSES),
    "MLPRegressor": (
        lambda: sklearn.neural_network.MLPRegressor(
            hidden_layer_sizes=(8,), activation="tanh", max_iter=40, random_state=0), X, TARGET),
    "MiniBatchKMeans": (
        lambda: sklearn.cluster.MiniBatchKMeans(4, n_init=1, random_state=0), X, None),
    "MultiOutputClassifier": (
        lambda: multioutput.MultiOutputClassifier(_logistic()), X,
        np.stack([BINARY, CLASSES], 1)),
    "MultiOutputRegressor": (
        lambda: multioutput.MultiOutputRegressor(linear_model.Ridge()), X, TARGETS),
    "MultinomialNB": (naive_bayes.MultinomialNB, POSITIVE, CLASSES),
    "NearestNeighbors": (
        lambda: neighbors.NearestNeighbors(n_neighbors=3, radius=None), X, None),
    "NuSVC": (lambda: svm.NuSVC(kernel="poly"), X, CLASSES),
    "OneHotEncoder": (
        lambda: preprocessing.OneHotEncoder(handle_unknown="ignore"), COUNTS, None),
    "OneVsOneClassifier": (lambda: multiclass.OneVsOneClassifier(_logistic()), X, CLASSES),
    "OneVsRestClassifier": (lambda: multiclass.OneVsRestClassifier(_logistic()), X, CLASSES),
    "OrdinalEncoder": (preprocessing.OrdinalEncoder, WORDS, None),
    "PLSRegression": (sklearn.cross_decomposition.PLSRegression, X, TARGETS),
    "Pipeline": (
        lambda: pipeline.make_pipeline(preprocessing.StandardScaler(), _logistic()), X, NAMES),
    "PoissonRegressor": (linear_model.PoissonRegressor, X, np.exp(TARGET / 4)),
    "QuantileRegressor": (lambda: linear_model.QuantileRegressor(alpha=0.01), X, TARGET),
    "QuantileTransformer": (lambda: preprocessing.QuantileTransformer(n_quantiles=20), X, None),
    "RANSACRegressor": (lambda: linear_model.RANSACRegressor(random_state=0), X, TARGET),
    "RFE": (lambda: feature_selection.RFE(linear_model.Ridge()), X, TARGET),
    "RFECV": (lambda: feature_selection.RFECV(linear_model.Ridge()), X, TARGET),
    "RadiusNeighborsClassifier": (
        lambda: neighbors.RadiusNeighborsClassifier(radius=4.0), X, CLASSES),
    "RadiusNeighborsRegressor": (
        lambda: neighbors.RadiusNeighborsRegressor(radius=4.0), X, TARGET),
    "RandomForestClassifier": (lambda: ensemble.RandomForestClassifier(**TREES), X, NAMES),
    "RandomForestRegressor": (lambda: ensemble.RandomForestRegressor(**TREES), X, TARGET),
    "ReplaceTransformer": (lambda: _sklapi("ReplaceTransformer")(np.float32(0), 5), COUNTS.astype(np.float32), None),
    "SVC": (lambda: svm.SVC(probability=True, random_state=0), X, CLASSES),
    "SelectFromModel": (
        lambda: feature_selection.SelectFromModel(linear_model.Ridge()), X, TARGET),
    "SimpleImputer": (impute.SimpleImputer, WITH_GAPS, None),
    "StackingClassifier": (
        lambda: ensemble.StackingClassifier(
            [("a", _logistic()), ("b", tree.DecisionTreeClassifier(max_depth=3))]), X, CLASSES),
    "StackingRegressor": (
        lambda: ensemble.StackingRegressor(
            [("a", linear_model.Ridge()), ("b", tree.DecisionTreeRegressor(max_depth=3))]),
        X, TARGET),
    "TargetEncoder": (
        lambda: preprocessing.TargetEncoder(random_state=0), WORDS, TARGET),
    "TfidfTransformer": (
        feature_extraction.text.TfidfTransformer, COUNTS.astype(np.float32), None),
    "TfidfVectorizer": (
        lambda: feature_extraction.text.TfidfVectorizer(ngram_range=(1, 2)), TEXT, None),
    "TunedThresholdClassifierCV": (
        lambda: model_selection.TunedThresholdClassifierCV(_logistic()), X, BINARY),
    "TweedieRegressor": (linear_model.TweedieRegressor, X, TARGET),
    "VotingClassifier": (
        lambda: ensemble.VotingClassifier(
            [("a", _logistic()), ("b", naive_bayes.GaussianNB())], voting="soft",
            flatten_transform=False), X, CLASSES),
    "VotingRegressor": (
        lambda: ensemble.VotingRegressor(
            [("a", linear_model.Ridge()), ("b", tree.DecisionTreeRegressor(max_depth=3))]),
        X, TARGET),
    "CalibratedClassifierCV": (
        lambda: calibration.CalibratedClassifierCV(svm.LinearSVC()), X, CLASSES),
}
# Not estimators that anyone fits alone, or whose input no tensor is.
LEFT_OUT = {
    "_ConstantPredictor": "what OneVsRestClassifier makes of a class that never occurs",
    "FeatureHasher": "hashes Python objects",
    "RandomTreesEmbedding": "gives sparse tensors, which the converter refuses",
}
# One of each kind, for every CI run.
FAST = {
    "AdaBoostClassifier", "BernoulliNB", "CalibratedClassifierCV", "ColumnTransformer",
    "CountVectorizer", "DecisionTreeClassifier", "ElasticNet", "ExtraTreesRegressor",
    "FeatureUnion", "GaussianMixture", "GaussianNB", "GaussianProcessRegressor",
    "GradientBoostingClassifier", "HistGradientBoostingClassifier", "IsolationForest",
    "KBinsDiscretizer", "KMeans", "KNNImputer", "KNeighborsClassifier", "KNeighborsRegressor",
    "LabelEncoder", "LinearSVC", "LocalOutlierFactor", "LogisticRegression", "MLPClassifier",
    "NuSVC", "Normalizer", "OneClassSVM", "OneHotEncoder", "OneVsRestClassifier",
    "OrdinalEncoder", "PCA", "Pipeline", "PolynomialFeatures", "PowerTransformer",
    "QuadraticDiscriminantAnalysis", "RandomForestClassifier", "RandomForestRegressor",
    "RobustScaler", "SGDClassifier", "SVC", "SVR", "SimpleImputer", "StackingClassifier",
    "TfidfVectorizer", "VotingClassifier",
}


def _sklapi(name):
    import skl2onnx.sklapi

    return getattr(skl2onnx.sklapi, name)


def _defaults(cls):
    if issubclass(cls, sklearn.base.ClassifierMixin):
        return cls, X, CLASSES
    if issubclass(cls, sklearn.base.RegressorMixin):
        return cls, X, TARGETS if cls.__name__.startswith("MultiTask") else TARGET
    if issubclass(cls, feature_selection.SelectorMixin):
        return cls, X, CLASSES
    if cls.__name__ in ("NeighborhoodComponentsAnalysis",):
        return cls, X, CLASSES
    return cls, X, None


def _input_type(data):
    types = {
        "f": FloatTensorType, "i": Int64TensorType, "U": StringTensorType, "O": StringTensorType
    }
    kind = DoubleTensorType if data.dtype == np.float64 else types[data.dtype.kind]
    return kind([None] + list(data.shape[1:]))


def _feed(data):
    return data.astype(object) if data.dtype.kind == "U" else data


def _export(make, data, target, opset=None, options=None, double=False):
    if double and data.dtype.kind == "f":
        data = data.astype(np.float64)
    model = make()
    model = model.fit(data) if target is None else model.fit(data, target)
    if options is None:
        alias = sklearn_operator_name_map.get(type(model))
        known = (alias and get_converter(alias).get_allowed_options()) or {}
        options = {k: v for k, v in {"zipmap": False, "locale": "C"}.items() if k in known}
    converted = to_onnx(
        model,
        initial_types=[("X", _input_type(data))],
        options={id(model): options} if options else None,
        target_opset=opset or {"": 18, "ai.onnx.ml": 3},
    )
    # Rows that were fitted lie on a one-class machine's border, where rounding decides.
    shown = data * np.float32(0.97) if type(model) is svm.OneClassSVM else data
    # One row, several, and the order reversed.
    rows = [shown[:1], shown[:17], shown[40:20:-1]]
    return onnx.load_from_string(converted.SerializeToString()), [{"X": _feed(r)} for r in rows]


def cases():
    for cls in sorted(sklearn_operator_name_map, key=lambda c: c.__name__):
        name = cls.__name__
        if name in LEFT_OUT or name == "DictVectorizer":
            continue
        make, data, target = SPECIAL.get(name) or _defaults(cls)
        yield case.Case(
            f"sklearn_{name}", lambda a=(make, data, target): _export(*a), name in FAST)
        if name in ("GaussianProcessRegressor", "KNeighborsRegressor", "RandomForestClassifier",
                    "StandardScaler", "LogisticRegression", "SVC"):
            yield case.Case(
                f"sklearn_{name}_double",
                lambda a=(make, data, target): _export(*a, double=True))
    yield from _variants()


def _variants():
    """The same estimators with other options, older opsets and ZipMap outputs."""
    for kernel in ("linear", "poly", "rbf", "sigmoid"):
        for target, labels in ((BINARY, "binary"), (CLASSES, "classes"), (NAMES, "names")):
            for probability in (False, True):
                name = f"sklearn_SVC_{kernel}_{labels}{'_probability' * probability}"
                make = lambda k=kernel, p=probability: svm.SVC(
                    kernel=k, probability=p, random_state=0)
                yield case.Case(name, lambda a=(make, X, target): _export(*a))
        yield case.Case(
            f"sklearn_NuSVR_{kernel}",
            lambda k=kernel: _export(lambda: svm.NuSVR(kernel=k), X, TARGET))
        yield case.Case(
            f"sklearn_OneClassSVM_{kernel}",
            lambda k=kernel: _export(lambda: svm.OneClassSVM(kernel=k), X, None))
    for target, labels in ((BINARY, "binary"), (CLASSES, "classes"), (NAMES, "names")):
        for model in (lambda: _logistic(), lambda: ensemble.RandomForestClassifier(**TREES),
                      lambda: ensemble.GradientBoostingClassifier(**TREES),
                      lambda: svm.LinearSVC(), lambda: linear_model.SGDClassifier()):
            name = f"sklearn_{type(model()).__name__}_{labels}"
            scores = {} if "Forest" in name else {"raw_scores": True}
            if "LinearSVC" not in name:
                scores["zipmap"] = False
            yield case.Case(
                f"{name}_scores", lambda a=(model, X, target), o=scores: _export(*a, options=o))
            for opset in ((9, 1), (12, 1), (15, 2), (18, 3)):
                yield case.Case(
                    f"{name}_opset{opset[0]}",
                    lambda a=(model, X, target), o=opset: _export(
                        *a, opset={"": o[0], "ai.onnx.ml": o[1]}))
        yield case.Case(
            f"sklearn_LogisticRegression_{labels}_zipmap",
            lambda t=target: _export(_logistic, X, t, options={"zipmap": True}), True)
        yield case.Case(
            f"sklearn_LogisticRegression_{labels}_columns",
            lambda t=target: _export(_logistic, X, t, options={"zipmap": "columns"}))
    for method in ("predict", "brute"):
        yield case.Case(
            f"sklearn_KNeighborsClassifier_{method}",
            lambda m=method: _export(
                lambda: neighbors.KNeighborsClassifier(
                    n_neighbors=3, weights="distance" if m == "predict" else "uniform",
                    metric="euclidean" if m == "predict" else "manhattan"), X, NAMES))
    for strategy in ("median", "most_frequent", "constant"):
        yield case.Case(
            f"sklearn_SimpleImputer_{strategy}",
            lambda s=strategy: _export(lambda: impute.SimpleImputer(strategy=s), WITH_GAPS, None))
    yield case.Case(
        "sklearn_OneHotEncoder_strings",
        lambda: _export(
            lambda: preprocessing.OneHotEncoder(handle_unknown="ignore"), WORDS, None), True)
    for norm in ("l1", "l2", "max"):
        yield case.Case(
            f"sklearn_Normalizer_{norm}",
            lambda n=norm: _export(lambda: preprocessing.Normalizer(n), X, None))
    yield case.Case(
        "sklearn_TfidfVectorizer_characters",
        lambda: _export(
            lambda: feature_extraction.text.TfidfVectorizer(analyzer="char", ngram_range=(1, 3)),
            TEXT, None))
