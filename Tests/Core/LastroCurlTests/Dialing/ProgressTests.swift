// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import LastroHTTP
import LastroTesting
import Testing

@testable import Lastro
@testable import LastroCurl

@Suite("Progress", .timeLimit(.minutes(15)))
struct ProgressTests {
  private static let bytes = [UInt8](repeating: 7, count: 1 << 20)

  private static func resource(
    _ server: LoopbackServer, _ reporter: TransferProgressReporter, method: HTTPRequest.Method = .get,
    body: RequestBody = .empty
  ) throws -> RawHTTPResource {
    var options = RequestOptions()
    options.progress = reporter
    options.timeouts = try Timeouts(connect: nil, attempt: nil, idle: nil, total: nil)
    return .raw(
      try ResourceRequest(method: method, url: "http://127.0.0.1:\(server.port)/", body: body, options: options))
  }

  /// Collects all steps that a reader sees who reads as fast as possible.
  private static func steps(_ reporter: TransferProgressReporter) -> Task<[TransferProgress], Never> {
    Task {
      var steps: [TransferProgress] = []
      for await step in reporter.updates { steps.append(step) }
      return steps
    }
  }

  private static func expectRising(_ steps: [TransferProgress]) {
    for (one, next) in zip(steps, steps.dropFirst()) {
      #expect(one.bytesSent <= next.bytesSent && one.bytesReceived <= next.bytesReceived)
    }
  }

  enum Source: CaseIterable, Sendable { case bytes, file, stream, unknownLength }

  @Test("Progress of an upload reaches its last byte", arguments: Source.allCases)
  func upload(source: Source) async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID())").path()
    try Data(Self.bytes).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let chunks = AsyncStream<Data> { continuation in
      for _ in 0..<16 { continuation.yield(Data(Self.bytes.prefix(1 << 16))) }
      continuation.finish()
    }
    let length = Int64(Self.bytes.count)
    let body: RequestBody =
      switch source {
      case .bytes: .raw(Self.bytes)
      case .file: try .file(path: path)
      case .stream: .stream(chunks, length: length)
      case .unknownLength: .stream(chunks)
      }
    let server = try LoopbackServer.http { .text("\($0.body.count)") }
    let reporter = TransferProgressReporter()
    let steps = Self.steps(reporter)
    let answer = try await CurlNetworkStack().fetch(Self.resource(server, reporter, method: .put, body: body))
    #expect(answer.value == Data("\(length)".utf8))
    let seen = await steps.value
    #expect(
      seen.last
        == TransferProgress(
          bytesSent: length, totalBytesToSend: source == .unknownLength ? nil : length, bytesReceived: 7,
          totalBytesToReceive: 7))
    #expect(seen.last == reporter.current)
    Self.expectRising(seen)
  }

  @Test(
    "Progress is reported during an upload from memory and from a source that yields everything at once",
    arguments: [Source.bytes, .stream])
  func runningUpload(source: Source) async throws {
    let gate = try LoopbackGate()
    let server = try LoopbackServer { connection in
      guard let head = try connection.readHead() else { return }
      _ = connection.wait(for: gate)
      _ = try connection.readBody(for: head)
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    }
    let reporter = TransferProgressReporter()
    let bytes = Data(repeating: 1, count: 64 << 20)
    let chunk = AsyncStream { stream in
      stream.yield(bytes)
      stream.finish()
    }
    let body: RequestBody = source == .bytes ? .raw(bytes) : .stream(chunk, length: Int64(bytes.count))
    let resource = try Self.resource(server, reporter, method: .put, body: body)
    let stack = try CurlNetworkStack()
    async let answer = stack.fetch(resource)
    for await step in reporter.updates where step.bytesSent >= 64 << 10 {
      // The server has not read on, so the sent bytes are still in buffers.
      if !gate.isOpen { #expect(step.bytesSent < 64 << 20) }
      gate.open()
    }
    _ = try await answer
    #expect(reporter.current.bytesSent == 64 << 20)
  }

  @Test("Progress is reported during a download, up to its last byte", arguments: [true, false])
  func download(isStream: Bool) async throws {
    let gate = try LoopbackGate()
    let server = try LoopbackServer { connection in
      guard try connection.readHead() != nil else { return }
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(Self.bytes.count)\r\n\r\n")
      try connection.write(Self.bytes.prefix(200 << 10))
      guard connection.wait(for: gate) else { return }
      try connection.write(Self.bytes.dropFirst(200 << 10))
    }
    let reporter = TransferProgressReporter()
    let resource = try Self.resource(server, reporter)
    let stack = try CurlNetworkStack()
    let count = Task {
      guard isStream else { return try await stack.fetch(resource).value.count }
      var count = 0
      for try await chunk in try await stack.stream(resource).value { count += chunk.count }
      return count
    }
    var seen: [TransferProgress] = []
    for await step in reporter.updates {
      seen.append(step)
      if !gate.isOpen { #expect(step.bytesReceived <= 200 << 10) }
      if step.bytesReceived >= 64 << 10 { gate.open() }
    }
    #expect(try await count.value == Self.bytes.count)
    let length = Int64(Self.bytes.count)
    #expect(
      seen.last == TransferProgress(totalBytesToSend: 0, bytesReceived: length, totalBytesToReceive: length))
    Self.expectRising(seen)
  }

  @Test("Progress of a compressed body counts the bytes received on the wire")
  func compressed() async throws {
    let hello: [UInt8] =
      [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 1, 5, 0, 0xFA, 0xFF] + Array("hello".utf8)
      + [0x86, 0xA6, 0x10, 0x36, 5, 0, 0, 0]
    let server = try LoopbackServer.http { _ in
      LoopbackResponse(headers: ["Content-Encoding": "gzip"], body: hello)
    }
    let reporter = TransferProgressReporter()
    #expect(try await CurlNetworkStack().fetch(Self.resource(server, reporter)).value == Data("hello".utf8))
    #expect(reporter.current.bytesReceived == Int64(hello.count))
    #expect(reporter.current.totalBytesToReceive == Int64(hello.count))
  }

  @Test("Chunked bodies and responses to HEAD have no total")
  func noTotal() async throws {
    let server = try LoopbackServer { connection in
      while let head = try connection.readHead() {
        if head.method == "HEAD" {
          try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")
        } else {
          try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
        }
      }
    }
    let stack = try CurlNetworkStack()
    for (method, count) in [(HTTPRequest.Method.get, Int64(3)), (.head, 0)] {
      let reporter = TransferProgressReporter()
      _ = try await stack.fetch(Self.resource(server, reporter, method: method))
      #expect(reporter.current == TransferProgress(totalBytesToSend: 0, bytesReceived: count))
    }
  }

  @Test("Progress starts again after a redirect")
  func redirect() async throws {
    let server = try LoopbackServer.http { request in
      request.target == "/end"
        ? .text("done") : LoopbackResponse(status: 303, headers: ["Location": "/end"], body: Self.bytes)
    }
    let reporter = TransferProgressReporter()
    _ = try await CurlNetworkStack().fetch(Self.resource(server, reporter, method: .post, body: .raw("12345")))
    #expect(reporter.current == TransferProgress(totalBytesToSend: 0, bytesReceived: 4, totalBytesToReceive: 4))
  }

  @Test("A failure, and a stream that is dropped, end the updates")
  func ends() async throws {
    let server = try LoopbackServer.http { _ in
      LoopbackResponse(body: Self.bytes, fault: .truncateBody(after: 1000))
    }
    let stack = try CurlNetworkStack()
    let failing = TransferProgressReporter()
    await #expect(throws: (any Error).self) { _ = try await stack.fetch(Self.resource(server, failing)) }
    for await _ in failing.updates {}
    #expect(failing.current.bytesReceived == 1000)
    let dropped = TransferProgressReporter()
    _ = try await stack.stream(Self.resource(server, dropped))
    for await _ in dropped.updates {}
  }

  @Test("Updates are throttled by bytes and by time")
  func pace() {
    let reporter = TransferProgressReporter()
    var meter = ProgressMeter(reporter.beginTransfer(totalBytesToSend: nil))
    var told: [Int64] = []
    for count in 1...200_000 {
      meter?.sent(Int64(count), at: 1_000_000_000)
      if told.last != reporter.current.bytesSent { told.append(reporter.current.bytesSent) }
    }
    #expect(told == [1, 65_537, 131_073, 196_609])
    meter?.sent(200_001, at: 1_049_999_999)
    #expect(reporter.current.bytesSent == 196_609)
    meter?.sent(200_001, at: 1_050_000_000)
    #expect(reporter.current.bytesSent == 200_001)
    meter?.sent(5, at: 1_050_000_001)
    #expect(reporter.current.bytesSent == 5)
    if ProgressMeter(nil) != nil { Issue.record("a meter without reporter") }
  }
}
