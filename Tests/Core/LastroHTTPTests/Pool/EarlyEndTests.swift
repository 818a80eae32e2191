// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroHTTP

/// HTTP/2 connections that end before the requests on them are sent.
@Suite("Dialer transport, connections that end early", .timeLimit(.minutes(15)))
struct EarlyEndTests {
  @Test("A connection that ends as soon as it opens fails its request, and such hosts are not dialed indefinitely")
  func atOnce() async throws {
    let dialer = EndedDialer()
    var configuration = DialerTransport.Configuration()
    // The pool reads the time between a dial and its job, so a slow clock lets a premature end arrive first.
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
      // The request was sent in vain, or was not sent at all.
      #expect(error?.code == .connectionLost || error?.code == .http2Failure, "\(error as Any)")
    }
    #expect(dialer.dials.count <= hosts * (HostPool.mostRestarts + 1))
  }
}

/// A dialer whose streams speak HTTP/2 and have already been ended by their peers.
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
