"""A short client of inferd over HTTP: NumPy arrays in, NumPy arrays out.

    from inferd import Client
    with Client("http://127.0.0.1:8000") as client:
        outputs = client.infer("digits", {"image": images})
        print(outputs["label"])
"""

from .client import Client, InferdError

__all__ = ["Client", "InferdError"]
