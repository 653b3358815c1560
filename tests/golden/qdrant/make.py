"""Answers of Qdrant to the requests in exchanges.json: pip install qdrant-client==1.20.0; python make.py

The requests are written by the test itself (MOOT_GOLDEN=write cargo test ... a_collection_is_made_filled_and_searched).
Each is parsed by the official client's model of that request, which refuses unknown fields, and carried out by the
client's own implementation of a collection (its local mode), not by a server.
"""

import json
import pathlib
import warnings

from qdrant_client import QdrantClient, models

warnings.filterwarnings("ignore")
FILE = pathlib.Path(__file__).parent / "exchanges.json"
NAME = "wiki"
BASE = f"/collections/{NAME}"
client = QdrantClient(":memory:")


def dumped(model):
    return json.loads(model.model_dump_json(exclude_none=True))


def create(body):
    asked = models.CreateCollection.model_validate(body)
    return client.create_collection(NAME, vectors_config=asked.vectors)


def index(body):
    asked = models.CreateFieldIndex.model_validate(body)
    client.create_payload_index(NAME, asked.field_name, asked.field_schema)
    return {"operation_id": 1, "status": "completed"}


def points(body):
    asked = models.PointsList.model_validate(body)
    return dumped(client.upsert(NAME, asked.points))


def query(body):
    asked = models.QueryRequest.model_validate(body)
    return dumped(
        client.query_points(
            NAME,
            query=asked.query,
            query_filter=asked.filter,
            search_params=asked.params,
            limit=asked.limit,
            with_payload=asked.with_payload,
        )
    )


def groups(body):
    asked = models.QueryGroupsRequest.model_validate(body)
    return dumped(
        client.query_points_groups(
            NAME,
            group_by=asked.group_by,
            query=asked.query,
            query_filter=asked.filter,
            limit=asked.limit,
            group_size=asked.group_size,
            with_payload=asked.with_payload,
        )
    )


def count(body):
    asked = models.CountRequest.model_validate(body)
    return dumped(client.count(NAME, exact=asked.exact))


def retrieve(body):
    asked = models.PointRequest.model_validate(body)
    return [dumped(record) for record in client.retrieve(NAME, asked.ids, with_payload=asked.with_payload)]


ROUTES = {
    ("PUT", BASE): create,
    ("PUT", f"{BASE}/index?wait=true"): index,
    ("PUT", f"{BASE}/points?wait=true"): points,
    ("POST", f"{BASE}/points/count"): count,
    ("POST", f"{BASE}/points"): retrieve,
    ("POST", f"{BASE}/points/query"): query,
    ("POST", f"{BASE}/points/query/groups"): groups,
}

exchanges = [e for e in json.loads(FILE.read_text()) if e["method"] != "GET"]
for exchange in exchanges:
    result = ROUTES[exchange["method"], exchange["path"]](exchange["body"])
    exchange["answer"] = {"result": result, "status": "ok", "time": 0.001}
told = dumped(client.get_collection(NAME))
exchanges.append({"method": "GET", "path": BASE, "body": None, "answer": {"result": told, "status": "ok", "time": 0.001}})
FILE.write_text(json.dumps(exchanges, indent=1, ensure_ascii=False) + "\n")
