// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroTesting
import TestSupport
import Testing

@testable import LastroHTTP

@Suite("Dialer transport: closed HTTP/2 connections", .timeLimit(.minutes(15)))
struct ClosedConnectionTests {
  @Test("A server that reads nothing does not delay the end of a closed connection")
  func blockedWrite() async throws {
    // The first bytes fill the stream, whose far end reads only one.
    let (near, far) = MemoryStream.pair(.init(capacity: 16))
    defer { withExtendedLifetime(far) {} }
    let stream = ToldStream(near)
    let clock = ManualClock()
    var configuration = DialerTransport.Configuration()
    configuration.timeSource = clock.timeSource
    configuration.connection = ConnectionOptions()
    configuration.connection?.httpVersion = .http2
    let transport = try DialerTransport(over: GivenStreamDialer(stream), configuration: configuration)
    var request = TransferRequest.to()
    request.deadline = .seconds(5)
    let task = Task { [request] in
      await failure { () async throws(TransportError) in try await transport.execute(request) }
    }
    #expect(try await far.read(upTo: 1)?.count == 1)
    clock.advance(by: .seconds(5))
    #expect(await task.value?.code == .totalTimeout)
    await transport.shutDown(cancelling: true)
    #expect(await stream.told.contains("close"))
  }
}
