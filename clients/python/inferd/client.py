"""The client. Needs NumPy and nothing else."""

import http.client
import json
import urllib.parse

import numpy as np

from .tensors import decode, encode


class InferdError(Exception):
    """An error answered by the server: `status` is the HTTP status, the text the server's own."""

    def __init__(self, status, message):
        super().__init__(f"{message} (HTTP {status})")
        self.status = status
        self.message = message


class Client:
    """One keep-alive connection to a server. Not thread-safe: one client per thread.

    `timeout` bounds every call, in seconds.
    """

    def __init__(self, url="http://127.0.0.1:8000", timeout=60.0):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise ValueError(f"expected http://host:port, found {url!r}")
        self._connection = http.client.HTTPConnection(parts.hostname, parts.port or 8000,
                                                      timeout=timeout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._connection.close()

    def live(self):
        """True when the server answers."""
        return self._probe("/v2/health/live")

    def ready(self, model=None, version=None):
        """True when the server, or one model of it, can serve."""
        return self._probe("/v2/health/ready" if model is None
                           else self._model_path(model, version) + "/ready")

    def metadata(self, model=None, version=None):
        """Metadata of the server, or of one model, as the protocol's JSON."""
        return self._get("/v2" if model is None else self._model_path(model, version))

    def config(self, model, version=None):
        return self._get(self._model_path(model, version) + "/config")

    def statistics(self, model=None, version=None):
        path = "/v2/models" if model is None else self._model_path(model, version)
        return self._get(path + "/stats")["model_stats"]

    def models(self):
        """Every model of the repository: a list of name, version, state and reason."""
        return json.loads(self._call("POST", "/v2/repository/index", b"{}")[1])

    def load(self, model):
        self._call("POST", f"/v2/repository/models/{urllib.parse.quote(model, safe='')}/load", b"")

    def unload(self, model):
        self._call("POST", f"/v2/repository/models/{urllib.parse.quote(model, safe='')}/unload",
                   b"")

    def infer(self, model, inputs, outputs=None, version=None, request_id=None, timeout=None,
              priority=None):
        """Runs a model. `inputs` maps names to arrays (strings as dtype object, str or bytes);
        `outputs` is a list of names, all when None. `timeout` in seconds bounds the wait in the
        server's queue. Returns a dict of arrays; elements of BYTES outputs are bytes."""
        described, blobs = [], []
        for name, array in inputs.items():
            datatype, shape, data = encode(array)
            described.append({"name": name, "shape": shape, "datatype": datatype,
                              "parameters": {"binary_data_size": len(data)}})
            blobs.append(data)
        request = {"inputs": described, "parameters": {"binary_data_output": True}}
        if outputs is not None:
            request["outputs"] = [{"name": name} for name in outputs]
        if request_id is not None:
            request["id"] = request_id
        if timeout is not None:
            request["parameters"]["timeout"] = int(timeout * 1e6)
        if priority is not None:
            request["parameters"]["priority"] = priority
        header = json.dumps(request).encode()
        headers, body = self._call(
            "POST", self._model_path(model, version) + "/infer", b"".join([header, *blobs]),
            {"Inference-Header-Content-Length": str(len(header)),
             "Content-Type": "application/octet-stream"})
        return self._outputs(headers, body)

    @staticmethod
    def _outputs(headers, body):
        length = headers.get("Inference-Header-Content-Length")
        end = len(body) if length is None else int(length)
        answer = json.loads(body[:end])
        outputs = {}
        for output in answer["outputs"]:
            size = output.get("parameters", {}).get("binary_data_size")
            if size is None:
                data = np.array(output["data"])
                outputs[output["name"]] = data.reshape(output["shape"])
                continue
            outputs[output["name"]] = decode(output["datatype"], output["shape"],
                                             body[end:end + size])
            end += size
        return outputs

    @staticmethod
    def _model_path(model, version):
        path = "/v2/models/" + urllib.parse.quote(model, safe="")
        return path if version is None else f"{path}/versions/{version}"

    def _get(self, path):
        return json.loads(self._call("GET", path)[1])

    def _probe(self, path):
        try:
            self._call("GET", path)
            return True
        except InferdError as error:
            if error.status in (400, 404, 503):
                return False
            raise

    def _call(self, method, path, body=None, headers=None):
        try:
            self._connection.request(method, path, body, headers or {})
            response = self._connection.getresponse()
            data = response.read()
        except Exception:
            # The next call starts on a fresh connection.
            self._connection.close()
            raise
        if response.status >= 400:
            try:
                message = json.loads(data)["error"]
            except (ValueError, KeyError, TypeError):
                message = data.decode(errors="replace") or response.reason
            raise InferdError(response.status, message)
        return response.headers, data
