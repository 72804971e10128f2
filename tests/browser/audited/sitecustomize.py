"""Record of the connections of a process; Python runs this first if the folder is on its path."""

import os
import sys

RECORD = os.environ["GRAFTVIZ_CONNECTIONS"]
PLACE_OF_ADDRESS = {
    "socket.connect": 1,
    "socket.sendto": 1,
    "socket.sendmsg": 1,
    "socket.getaddrinfo": 0,
    "socket.gethostbyname": 0,
    "socket.gethostbyaddr": 0,
}


def write_down(event: str, arguments: tuple[object, ...]) -> None:
    if event in PLACE_OF_ADDRESS:
        with open(RECORD, "a", encoding="utf-8") as file:
            file.write(f"{event}\t{arguments[PLACE_OF_ADDRESS[event]]!r}\n")


sys.addaudithook(write_down)
