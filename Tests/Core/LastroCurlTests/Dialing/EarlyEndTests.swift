// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import Lastro
import LastroCurl
import LastroHTTP
import LastroSupport
import LastroTesting
import TestSupport
import Testing

/// HTTP/2 connections that end before a request is sent on them.
@Suite("Uploads over connections that end early", .timeLimit(.minutes(15)))
struct EarlyEndTests {
  @Test(
    "The source of an upload is read only after its stream accepts bytes, so it can be sent whole over another connection"
  )
  func upload() async throws {
    let server = try LoopbackServer.http2 { .text("\($0.body.count)") }
    // The stream's small capacity makes the first bytes fill it.
    let (near, far) = MemoryStream.pair(.init(capacity: 16))
    let dialer = FirstDialer(first: Lock(near), base: try TestAuthority.engine())
    var configuration = DialerTransport.Configuration()
    var options = ConnectionOptions()
    options.httpVersion = .http2
    options.proxy = .none
    configuration.connection = options
    let transport = try DialerTransport(over: dialer, configuration: configuration)
    let authority = "127.0.0.1:\(server.port)"
    let first = Task {
      try await transportError { try await transport.execute(.to(authority: authority)) }
    }
    // The first write is in progress, and no other data has been written.
    _ = try await far.read(upTo: 1, within: nil)
    let (source, more) = AsyncStream<Data>.makeStream()
    let request = TransferRequest.to("/", .post, authority: authority, body: .stream(source))
    async let second = transport.execute(request)
    more.yield(Data(count: 100_000))
    // Closing would complete the write, as a kernel's buffer does: the next bytes would count as sent, if they came
    // before the end was read.
    far.truncate()
    more.finish()
    #expect(try await second.body.bytes == Data("100000".utf8))
    #expect(try await first.value.code == .connectionLost)
  }
}

/// A dialer that returns a stream in memory first, and after that the streams of another dialer.
private struct FirstDialer: Dialer {
  let first: Lock<MemoryStream?>
  let base: CurlTransport

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    if let stream = first.withLock({ $0.take() }) { return stream }
    return try await base.dial(request)
  }
}
