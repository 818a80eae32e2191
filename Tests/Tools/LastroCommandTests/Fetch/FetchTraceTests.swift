// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroCurl
import LastroTesting
import PeerSupport
import Testing

@testable import LastroCommand

/// Tests of `--trace` and `--trace-ascii`.
@Suite("lastro fetch: traces", .timeLimit(.minutes(15)))
struct FetchTraceTests {
  private func server() throws -> LoopbackServer {
    try LoopbackServer.http { request in
      request.path == "/away"
        ? LoopbackResponse(status: 302, headers: ["Location": "/there"])
        : .text("\(request.method) \(request.target) \(request.text)\n").adding("Set-Cookie", "session=c00kie")
    }
  }

  private func body(_ style: TraceText.Style, _ text: String) -> String {
    TraceText(style: style).body(.sent, Array(text.utf8), count: Int64(text.utf8.count), .standard)
  }

  @Test("Bodies are shown in hexadecimal and as text, in curl's form")
  func rows() {
    let blanks = String(repeating: " ", count: 33)
    #expect(body(.hexadecimal, "hello") == "=> Send data, 5 bytes (0x5)\n0000: 68 65 6c 6c 6f \(blanks)hello\n")
    #expect(
      body(.hexadecimal, "0123456789abcde\n!").hasSuffix(
        "0000: 30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 0a 0123456789abcde.\n0010: 21 "
          + String(repeating: " ", count: 45) + "!\n"))
    #expect(body(.ascii, "a\r\nb\n").hasSuffix(" bytes (0x5)\n0000: a\n0003: b\n"))
    let long = String(repeating: "x", count: 64)
    #expect(body(.ascii, long + "yz").hasSuffix("\n0000: \(long)\n0040: yz\n"))
    #expect(body(.ascii, long + "\r\nz").hasSuffix("\n0000: \(long)\n0042: z\n"))
  }

  @Test("A long body is cut, and secrets are masked in text and among other bytes")
  func limits() {
    let text = TraceText(style: .ascii)
    let long = [UInt8](repeating: 0x78, count: TraceText.maximumBody)
    #expect(
      text.body(.received, long, count: Int64(long.count) + 10, .standard).hasSuffix(
        "== Info: 10 more bytes are not shown\n"))
    for start in [[], [0xFF, 0x00]] as [[UInt8]] {
      let bytes = start + Array(#"{"access_token":"s3cret"}"#.utf8)
      let shown = text.body(.received, bytes, count: Int64(bytes.count), .standard)
      #expect(!shown.contains("s3cret") && shown.contains("***"), "\(shown)")
    }
    #expect(text.info("a\nb") == "== Info: a\\nb\n")
  }

  @Test("A secret that a body ends in the middle of, or that an error repeats, is masked")
  func cuts() async throws {
    let directory = try PeerDirectory()
    let redaction = Redaction.standard.adding([Secret("hush-hush")])
    let log = try TraceLog(directory.file("t.txt"), style: .ascii)
    let failing = ResponseBody(
      next: { () async throws(TransportError) -> Data? in
        throw TransportError(stage: .response, code: .connectionLost, message: "lost after hush-hush")
      })
    let traced = TracedResponseBody(failing, redaction, log)
    await #expect(throws: TransportError.self) { try await traced.next() }
    let body = TracedBody(.received, redaction, log)
    body.add(Data("name hush-h".utf8))
    body.writeToTrace(isCut: true)
    let text = directory.text(of: "t.txt")
    #expect(text.contains("lost after ***") && text.contains("0000: name ***\n"), "\(text)")
  }

  @Test("A header field that the request's options call sensitive is masked")
  func sensitiveFields() async throws {
    let directory = try PeerDirectory()
    let transport = TracingTransport(
      base: ScriptedTransport([.respond(status: 200)]), log: try TraceLog(directory.file("t.txt"), style: .ascii),
      engine: CurlConfiguration())
    var request = try ResourceRequest(url: "https://example.com/")
    try request.setHeader("X-Room", Secret("k3y"))
    _ = try await TransportNetworkStack(transport: transport).fetch(RawHTTPResource.raw(request))
    let text = directory.text(of: "t.txt")
    #expect(text.contains("X-Room: ***\n"), "\(text)")
  }

  @Test("--trace-ascii writes requests and responses, without secrets")
  func file() async throws {
    let server = try server()
    let directory = try PeerDirectory()
    let result = try await Lastro.run(
      [
        "fetch", "--trace-ascii", "t.txt", "--bearer", "hush", "-d", "a=1&password=pw9", server.baseURL + "/in?key=k3y",
      ],
      folder: directory.file(""))
    #expect(result.status == 0, "\(result.errors)")
    let text = directory.text(of: "t.txt")
    for part in [
      "=> Send header\nPOST \(server.baseURL)/in?key=***\nHost: ", "Authorization: ***\n",
      "=> Send data, 16 bytes (0x10)\n0000: a=1&password=***\n", "== Info: a new connection to ",
      "<= Recv header\nHTTP/1.1 200 OK\n", "Set-Cookie: ***\n", "<= Recv data, ",
    ] {
      #expect(text.contains(part), "\(part) is not in \(text)")
    }
    for secret in ["hush", "pw9", "k3y", "c00kie"] { #expect(!text.contains(secret), "\(text)") }
  }

  @Test("--trace writes each redirect, the file of an upload, and all requests of a line")
  func line() async throws {
    let server = try server()
    let directory = try PeerDirectory()
    try directory.write("content", to: "up.txt")
    let result = try await Lastro.run(
      [
        "fetch", "-s", "-o", "body", "--trace", "-", server.baseURL + "/away", "--next", "-s", "-T", "up.txt", "-o",
        "other", server.baseURL + "/up",
      ],
      folder: directory.file(""))
    #expect(result.status == 0, "\(result.errors)")
    let lines = result.lines
    #expect(lines.filter { $0 == "=> Send header" }.count == 3, "\(result.text)")
    #expect(lines.contains("HTTP/1.1 302 Found") && lines.contains("Location: /there"))
    #expect(lines.contains { $0.hasPrefix("0000: 63 6f 6e 74 65 6e 74 ") && $0.hasSuffix("content") })
    #expect(directory.text(of: "body").hasPrefix("GET /there"))
    #expect(directory.text(of: "other") == "PUT /up content\n")
  }

  @Test("A trace has the error of a request that fails, and one that cannot be written is reported")
  func failures() async throws {
    let server = try LoopbackServer { connection in connection.close() }
    let failed = try await Lastro.run(["fetch", "-s", "--trace", "%", server.baseURL])
    #expect(failed.status != 0)
    #expect(failed.errors.contains("=> Send header\n") && failed.errors.contains("\n== Info: "))
    let full = try await Lastro.run(["fetch", "--trace", "/dev/full", server.baseURL])
    #expect(full.status == 1 && full.errors.contains("cannot write the trace: No space left on device"))
  }
}
