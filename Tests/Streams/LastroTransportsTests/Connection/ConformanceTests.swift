// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroStreamsTesting
import LastroTesting
import LastroTransports
import Testing

@Suite("Conformance of connections", .timeLimit(.minutes(15)))
struct ConformanceTests {
  private static let echo = MemoryDialer { _, stream in try await ConnectionConformance.echo(stream) }

  @Test("A network connection over a stream in memory satisfies all requirements") func network() async throws {
    let factory = NetworkConnectionFactory(to: SampleNetwork.server, dialer: Self.echo)
    expectNone(await ConnectionConformance(of: factory).brokenPromises())
  }

  @Test("Reads of one byte and a small buffer change nothing") func slowNetwork() async throws {
    let dialer = MemoryDialer(shape: MemoryStream.Shape(longestRead: 1, capacity: 7)) { _, stream in
      try await ConnectionConformance.echo(stream)
    }
    let factory = NetworkConnectionFactory(to: SampleNetwork.server, dialer: dialer)
    expectNone(await ConnectionConformance(of: factory, bigLength: 1000).brokenPromises())
  }

  @Test("The sample transport satisfies all requirements, created in each of the document's ways") func sample()
    async throws
  {
    let server = SampleNetwork.server
    let own = SampleConnectionFactory(serverAddress: server, cert: "cert", iatMode: false)
    expectNone(await ConnectionConformance(of: own).brokenPromises())

    let network = NetworkConnectionFactory(to: server, dialer: SampleNetwork.dialer)
    let over = SampleConnectionFactory(serverAddress: server, cert: "cert", iatMode: true, factory: network)
    expectNone(await ConnectionConformance(of: over).brokenPromises())

    let single = EachTimeAnew {
      let connection = NetworkConnection(to: server, using: .tcp, dialer: SampleNetwork.dialer)
      return SampleConnectionFactory(serverAddress: server, cert: "cert", iatMode: false, connection: connection)
    }
    expectNone(await ConnectionConformance(of: single).brokenPromises())
  }

  @Test("The sample transport nested in itself, twice and three times, satisfies all requirements", arguments: [2, 3])
  func nested(layers: Int) async throws {
    let network = SampleNetwork.masked(cert: "cert", layers: layers)
    var factory: any ConnectionFactory = NetworkConnectionFactory(to: SampleNetwork.server, dialer: network)
    for _ in 0..<layers {
      factory = SampleConnectionFactory(
        serverAddress: SampleNetwork.server, cert: "cert", iatMode: false, factory: factory)
    }
    expectNone(await ConnectionConformance(of: factory, bigLength: 200_000).brokenPromises())
  }
}

private func expectNone(
  _ findings: [ConnectionConformance.Finding], sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(findings.isEmpty, "\(findings)", sourceLocation: sourceLocation)
}

/// A factory that creates its single connection again for each call.
struct EachTimeAnew: ConnectionFactory {
  let make: @Sendable () -> (any ConnectionFactory)?

  func connect(using parameters: ConnectionParameters) -> (any Connection)? { make()?.connect(using: parameters) }
}
