// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroHTTP
import LastroTesting
import TestSupport
import Testing

/// Responses that begin before the request's body is whole (RFC 9110 §10.1.1, RFC 9113 §8.1).
@Suite("Faults: early responses", .timeLimit(.minutes(5)))
struct EarlyResponseTests {
  /// Lastro's own HTTP, over the connections of the engine or over those of a dialer.
  enum Shell: String, CaseIterable, Sendable {
    case engine, dialer

    func transport(_ version: EarlyResponse.Version) throws -> any Transport {
      var options = ConnectionOptions()
      options.proxy = .none
      options.httpVersion = version == .http1 ? .http1 : .http2
      let engine = try CurlTransport.with { $0.connection = options }
      guard self == .dialer else { return engine }
      var configuration = DialerTransport.Configuration()
      configuration.connection = options
      return try DialerTransport(over: CurlDialer(transport: engine), configuration: configuration)
    }
  }

  private func ask(
    _ transport: any Transport, _ server: LoopbackServer, _ path: String, body: RequestBody = .empty
  ) async -> Outcome {
    var request = TransferRequest.to(server, path, method: body.isEmpty ? .get : .post)
    request.body = body
    request.deadline = .seconds(200)
    do throws(TransportError) {
      let response = try await transport.execute(request)
      let text = String(decoding: try await response.body.collect(upTo: 1_000), as: UTF8.self)
      return .answered(response.head.status.code, text)
    } catch {
      return .failed(error.words)
    }
  }

  @Test("The table has a row for every line, and every status class in both versions")
  func table() {
    #expect(EarlyResponse.rows.count == EarlyResponse.table.split(separator: "\n").count - 1)
    for version in [EarlyResponse.Version.http1, .http2] {
      #expect(Set(EarlyResponse.rows.filter { $0.version == version }.map { $0.status / 100 }) == [2, 3, 4, 5])
    }
  }

  /// Every row over every shell, but for HTTP/1.1 over dialers where the rest is sent: on a busy machine that shell
  /// ends some of these exchanges early. The rows run over it once both share one engine.
  private static let runs = EarlyResponse.rows.flatMap { row in
    Shell.allCases.filter { $0 != .dialer || row.version == .http2 || row.rest == .stopped }.map { (row, $0) }
  }

  @Test(
    "Below 300 the rest of the body is sent, from 300 on it is not; the response stands either way",
    .tags(.engineOnly), arguments: runs)
  private func early(_ row: EarlyResponse, _ shell: Shell) async throws {
    let (answered, received) = (EventRecorder<Int>(), EventRecorder<Int>())
    let server = try row.server(answered: answered, received: received)
    let transport = try shell.transport(row.version)
    // The second part of the body follows the response; where the response refuses the body, it never comes.
    let (source, continuation) = AsyncStream<Data>.makeStream()
    defer { continuation.finish() }
    continuation.yield(Data(repeating: 1, count: EarlyResponse.firstBytes))
    let feeding = Task {
      try await answered.waitForEvents(count: 1)
      guard row.rest == .sent else { return }
      continuation.yield(Data(repeating: 2, count: EarlyResponse.allBytes - EarlyResponse.firstBytes))
      continuation.finish()
    }
    // Without a length the request has chunks over HTTP/1.1, and asks with Expect.
    let length = row.version == .http1 && row.marks.contains(.expect) ? nil : Int64(EarlyResponse.allBytes)
    let outcome = await ask(transport, server, "/early", body: .stream(source, length: length))
    #expect(outcome == .answered(row.status, row.expectedText))
    try await feeding.value
    #expect(await ask(transport, server, "/ok") == .answered(200, "fine"))
    #expect(server.acceptedConnections == (row.next == .same ? 1 : 2))
    #expect(server.requests.map(\.path) == ["/early", "/ok"], "nothing is sent twice")
    let asked = server.requests.first?.head["Expect"] != nil
    #expect(asked == row.marks.contains(.expect))
    let count = try #require(try await received.waitForEvents(count: 1).first)
    switch row.rest {
    case .sent: #expect(count == EarlyResponse.allBytes)
    case .stopped:
      // Chunks have frames around them.
      #expect(count <= EarlyResponse.firstBytes + 64)
      if asked, row.arrival == .before { #expect(count == 0) }
    }
  }

  @Test("A server that responds and then takes nothing of the body for a second has refused it", .tags(.engineOnly))
  func stalled() async throws {
    let server = try LoopbackServer { connection in
      guard let head = try connection.readHead() else { return }
      guard head.path == "/early" else {
        return try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
      }
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly")
      connection.stall()
    }
    let transport = try Shell.engine.transport(.http1)
    // More than the buffers of a connection hold.
    let body = RequestBody.raw(Data(repeating: 1, count: 32 << 20))
    #expect(await ask(transport, server, "/early", body: body) == .answered(200, "early"))
    #expect(await ask(transport, server, "/ok") == .answered(200, "fine"))
    #expect(server.acceptedConnections == 2)
  }
}
