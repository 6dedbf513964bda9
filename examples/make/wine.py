"""A random forest on scikit-learn's wine data, written as an ai.onnx.ml TreeEnsembleClassifier."""

import json

import numpy as np
from onnx import TensorProto, helper
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from model_file import EXAMPLES, save


def tree_ensemble(forest):
    """The node attributes of TreeEnsembleClassifier for a fitted forest. A leaf votes with its
    class shares over the number of trees, so that the sums are the forest's probabilities."""
    a = {k: [] for k in ("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_values",
                         "nodes_modes", "nodes_truenodeids", "nodes_falsenodeids",
                         "class_treeids", "class_nodeids", "class_ids", "class_weights")}
    for tree_id, estimator in enumerate(forest.estimators_):
        tree = estimator.tree_
        for node in range(tree.node_count):
            leaf = tree.children_left[node] < 0
            a["nodes_treeids"].append(tree_id)
            a["nodes_nodeids"].append(node)
            a["nodes_modes"].append("LEAF" if leaf else "BRANCH_LEQ")
            a["nodes_featureids"].append(0 if leaf else int(tree.feature[node]))
            a["nodes_values"].append(0.0 if leaf else float(np.float32(tree.threshold[node])))
            a["nodes_truenodeids"].append(0 if leaf else int(tree.children_left[node]))
            a["nodes_falsenodeids"].append(0 if leaf else int(tree.children_right[node]))
            if not leaf:
                continue
            shares = tree.value[node][0] / tree.value[node][0].sum()
            for label, share in enumerate(shares):
                if share > 0:
                    a["class_treeids"].append(tree_id)
                    a["class_nodeids"].append(node)
                    a["class_ids"].append(label)
                    a["class_weights"].append(float(share / len(forest.estimators_)))
    return a


def main():
    data = load_wine()
    # Thresholds are compared in float, so the forest is grown on floats.
    x = data.data.astype(np.float32)
    train_x, test_x, train_y, test_y = train_test_split(x, data.target, test_size=0.25,
                                                        random_state=7, stratify=data.target)
    forest = RandomForestClassifier(n_estimators=30, max_depth=5, random_state=7)
    forest.fit(train_x, train_y)
    print(f"wine: test accuracy {forest.score(test_x, test_y):.3f}")

    node = helper.make_node("TreeEnsembleClassifier", ["features"], ["label", "probabilities"],
                            name="forest", domain="ai.onnx.ml", post_transform="NONE",
                            classlabels_int64s=[0, 1, 2], **tree_ensemble(forest))
    save("wine", [node],
         [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["batch", 13])],
         [helper.make_tensor_value_info("label", TensorProto.INT64, ["batch"]),
          helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", 3])],
         config="latency_budget: 10ms\nmax_batch_size: 64\n", ml=True)

    folder = EXAMPLES / "data" / "wine"
    folder.mkdir(parents=True, exist_ok=True)
    request = {"inputs": [{"name": "features", "shape": [3, 13], "datatype": "FP32",
                           "data": [round(float(v), 3) for v in test_x[:3].ravel()]}]}
    (folder / "request.json").write_text(json.dumps(request) + "\n")
    (folder / "labels.json").write_text(json.dumps([int(v) for v in test_y[:3]]) + "\n")


if __name__ == "__main__":
    main()
