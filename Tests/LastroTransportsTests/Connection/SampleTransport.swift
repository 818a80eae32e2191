// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroStreamsTesting
import LastroTesting
import LastroTransports

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// A whole transport as the Swift Transport API wants it, with all three initialisers of the document's Wisp. What a reader
// of the guide's page on transports could have written.

/// What it does to the bytes: masks them with a key that both sides know, and sends a hello first.
struct SampleMask: StreamTransform {
  static let hello = Data("SAMPLE1 ".utf8)
  let key: [UInt8]
  var sent = 0
  var received = 0
  var greeting = Data()

  init(cert: String) { key = Array(cert.utf8) }

  mutating func opening() -> Data { Self.hello }
  mutating func outgoing(_ data: Data) -> Data { mask(data, &sent) }

  mutating func incoming(_ data: Data) throws -> Data {
    guard greeting.count < Self.hello.count else { return mask(data, &received) }
    greeting.append(data)
    guard greeting.count >= Self.hello.count else { return Data() }
    guard greeting.starts(with: Self.hello) else { throw NoHello() }
    return mask(greeting.dropFirst(Self.hello.count), &received)
  }

  private func mask(_ data: some Sequence<UInt8>, _ position: inout Int) -> Data {
    Data(
      data.map { byte in
        defer { position += 1 }
        return byte ^ key[position % key.count]
      })
  }

  struct NoHello: Error {}
}

/// The transport.
struct SampleConnectionFactory: ConnectionFactory {
  private let transport: TransformingConnectionFactory

  /// Connects to the transport's server over the network.
  init(serverAddress: ConnectionEndpoint, cert: String, iatMode: Bool, network: any Dialer = SampleNetwork.dialer) {
    transport = TransformingConnectionFactory(to: serverAddress, dialer: network) { SampleMask(cert: cert) }
  }

  /// Over the connections of another transport.
  init(serverAddress: ConnectionEndpoint, cert: String, iatMode: Bool, factory: any ConnectionFactory) {
    transport = TransformingConnectionFactory(over: factory) { SampleMask(cert: cert) }
  }

  /// Over one connection; when that is lost there is no other.
  init(serverAddress: ConnectionEndpoint, cert: String, iatMode: Bool, connection: any Connection) {
    transport = TransformingConnectionFactory(over: connection) { SampleMask(cert: cert) }
  }

  func connect(using parameters: ConnectionParameters) -> (any Connection)? { transport.connect(using: parameters) }
}

/// The network as the tests have it: a server of the transport in this process, which sends back what it unmasks.
enum SampleNetwork {
  static let server: ConnectionEndpoint = .hostPort(host: "sample.example", port: 9)

  static let dialer = masked(cert: "cert")

  /// A server behind so many layers of the transport.
  static func masked(cert: String, layers: Int = 1) -> MemoryDialer {
    MemoryDialer { _, stream in
      var inner: any ByteStream = stream
      for _ in 0..<layers {
        try await inner.write(SampleMask.hello)
        inner = TransformedStream(inner, SampleMask(cert: cert))
      }
      try await ConnectionConformance.echo(inner)
    }
  }
}
