// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The tests' service on Python's grpcio. Ends with the object.
// Unchecked because a process and its pipe are only used when it starts and ends.
final class PythonServer: @unchecked Sendable {
  let port: Int
  private let process = Process()
  private let input = Pipe()

  /// - Parameter script: the program, which prints its port on the first line and ends with its standard input.
  init(_ script: String = PythonServer.grpcio) throws {
    let root = URL(filePath: #filePath).appending(path: "../../../../../../").standardizedFileURL
    let python = root.appending(path: ".build-peers/bin/python")
    try #require(
      FileManager.default.isExecutableFile(atPath: python.path), "run .ci/setup test: \(python.path) is missing")
    let output = Pipe()
    process.executableURL = python
    process.arguments = ["-u", "-c", script]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    var text = ""
    while !text.hasSuffix("\n") {
      let bytes = output.fileHandleForReading.availableData
      if bytes.isEmpty { break }
      text += String(decoding: bytes, as: UTF8.self)
    }
    port = try #require(Int(text.dropLast()), "the server of Python did not start")
  }

  deinit {
    try? input.fileHandleForWriting.close()
    process.terminate()
  }

  static let grpcio = #"""
    import sys, threading, time
    from concurrent import futures
    import grpc

    lock, cancelled, refused, servers = threading.Lock(), 0, 0, []

    def first(messages):
        return next(iter(messages))

    def unary(messages, context):
        message = first(messages)
        metadata = context.invocation_metadata()
        context.send_initial_metadata([("x-echo", v) for k, v in metadata if k == "x-echo"])
        context.set_trailing_metadata([("x-echo-bin", v) for k, v in metadata if k == "x-echo-bin"])
        yield message

    def collect(messages, context):
        yield b"".join(messages)

    def expand(messages, context):
        for byte in first(messages):
            yield bytes([byte]) * byte

    def chat(messages, context):
        for message in messages:
            yield message

    def fail(messages, context):
        context.set_trailing_metadata([("x-reason", "none")])
        context.abort(grpc.StatusCode.NOT_FOUND, "no such thing: 100 %, é\n")
        yield b""

    def fail_midway(messages, context):
        yield b"\x01"
        context.set_trailing_metadata([("x-reason", "midway")])
        context.abort(grpc.StatusCode.ABORTED, "enough")

    def slow(messages, context):
        global cancelled
        while context.is_active():
            time.sleep(0.005)
        with lock:
            cancelled += 1
        yield b""

    def count(messages, context):
        yield bytes([cancelled])

    def fail_once(messages, context):
        global refused
        message = first(messages)
        with lock:
            refused += 1
            mine = refused
        if mine == 1:
            context.abort(grpc.StatusCode.UNAVAILABLE, "come again")
        yield message

    def restart(messages, context):
        serve(port)
        threading.Timer(0.05, servers.pop(0).stop, [5]).start()
        yield b""

    methods = {
        "Unary": unary, "Collect": collect, "Expand": expand, "Chat": chat, "Fail": fail, "FailMidway": fail_midway,
        "Slow": slow, "Cancelled": count, "FailOnce": fail_once, "Restart": restart}

    def serve(port):
        server = grpc.server(
            futures.ThreadPoolExecutor(16),
            options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)])
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(
            "lastro.Echo", {name: grpc.stream_stream_rpc_method_handler(f) for name, f in methods.items()})])
        port = server.add_insecure_port(f"127.0.0.1:{port}")
        server.start()
        servers.append(server)
        return port

    port = serve(0)
    print(port, flush=True)
    sys.stdin.read()
    for server in servers:
        server.stop(0)
    """#
}
