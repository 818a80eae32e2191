// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Lastro
import LastroCurl
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroHTTP

/// Connections of HTTP/2 that end before what is asked on them goes out.
@Suite("Dialer transport, connections that end early", .timeLimit(.minutes(5)))
struct EarlyEndTests {
  @Test("one that is at its end when it stands fails its request for that, and such are not dialed for ever")
  func atOnce() async throws {
    let dialer = EndedDialer()
    var configuration = DialerTransport.Configuration()
    // The pool asks for the time between a dial and its job, so that an end that is read too early comes first.
    configuration.timeSource = TimeSource(
      now: {
        usleep(1_000)
        return TimeSource.continuous.now()
      }, sleep: TimeSource.continuous.sleep)
    let transport = try DialerTransport(over: dialer, configuration: configuration)
    let hosts = 8
    for number in 0..<hosts {
      let error = await failure { () async throws(TransportError) in
        try await transport.execute(.to(scheme: "https", authority: "h\(number)"))
      }
      // Sent in vain, or not sent at all.
      #expect(error?.code == .connectionLost || error?.code == .http2Failure, "\(error as Any)")
    }
    #expect(dialer.dials.count <= hosts * (HostPool.mostRestarts + 1))
  }

  @Test(
    "of an upload nothing is read before its stream accepts bytes, so that it goes out whole over another connection")
  func upload() async throws {
    let server = try LoopbackServer.http2 { .text("\($0.body.count)") }
    // The first bytes fill the stream.
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
      await failure { () async throws(TransportError) in try await transport.execute(.to(authority: authority)) }
    }
    // It is being written, and nothing else is.
    _ = try await far.read(upTo: 1, within: nil)
    let (source, more) = AsyncStream<Data>.makeStream()
    let request = TransferRequest.to("/", .post, authority: authority, body: .stream(source))
    async let second = transport.execute(request)
    more.yield(Data(count: 100_000))
    far.close()
    more.finish()
    #expect(try await second.body.bytes == Data("100000".utf8))
    #expect(await first.value?.code == .connectionLost)
  }
}

/// Dials streams that speak HTTP/2, and whose peers have ended them.
private struct EndedDialer: Dialer {
  let dials = EventRecorder<Int>()

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    dials.record(1)
    return EndedStream()
  }
}

private final class EndedStream: ByteStream {
  let facts = StreamFacts(tls: .init(version: "TLSv1.3", applicationProtocol: "h2"), trust: .validated)

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? { nil }

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {}

  func finishWriting(within limit: Duration?) async throws(TransportError) {}

  func close() {}
}

/// Gives a stream of memory at first, and then those of another dialer.
private struct FirstDialer: Dialer {
  let first: Lock<MemoryStream?>
  let base: CurlDialer

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    if let stream = first.withLock({ $0.take() }) { return stream }
    return try await base.dial(request)
  }
}
