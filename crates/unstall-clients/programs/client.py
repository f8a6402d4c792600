# One request by the library named first; "empty reply" if the server closes without a byte.
import os
import sys

how, url, host, port = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
limit = {"timeout": float(sys.argv[5])} if len(sys.argv) > 5 else {}


def by_socket():
    import socket

    with socket.create_connection((host, port), **limit) as connection:
        connection.sendall(b"HEAD / HTTP/1.0\r\n\r\n")
        if not connection.recv(1):
            sys.exit("empty reply")


def by_urllib():
    import urllib.request

    urllib.request.urlopen(url, **limit).read()


def by_requests():
    import requests

    requests.get(url, **limit)


def by_httpx():
    import httpx

    httpx.get(url, **limit)


def by_aiohttp():
    import aiohttp
    import asyncio

    async def get():
        total = {"timeout": aiohttp.ClientTimeout(total=limit["timeout"])} if limit else {}
        async with aiohttp.ClientSession() as session:
            async with session.get(url, **total) as response:
                await response.read()

    asyncio.run(get())


try:
    globals()["by_" + how]()
except Exception as error:
    import re

    # asyncio's words for a refusal ("Connect call failed") have none for what it is, but its number.
    numbers = {int(number) for number in re.findall(r"\[Errno (\d+)\]", str(error))}
    numbers.add(getattr(getattr(error, "os_error", error), "errno", None))
    words = " ".join(os.strerror(number) for number in numbers if number)
    sys.exit(f"{type(error).__name__}: {error} {words}")
