"""A fence inside an object store: conditional writes of a small object that carries the token."""

from fencepost.fences.s3.fence import S3Fence

__all__ = ["S3Fence"]
