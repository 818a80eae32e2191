// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting
import Testing

@Suite("Streams: echo", .timeLimit(.minutes(60)))
struct EchoTests {
  @Test("what is written to a TCP stream comes back")
  func tcp() async throws {
    let server = try LoopbackServer { connection in
      while case let bytes = connection.read(max: 65_536), !bytes.isEmpty { try connection.write(bytes) }
    }
    let stream = try await CurlDialer.shared.dial(DialRequest(host: "127.0.0.1", port: server.port))
    try await stream.write(Data("hello".utf8))
    #expect(try await stream.read() == Data("hello".utf8))
    try await stream.finishWriting()
    #expect(try await stream.read() == nil)
    #expect(stream.facts.remoteAddress == "127.0.0.1" && stream.facts.remotePort == server.port)
    stream.close()
  }

  @Test("what is written to a TLS stream comes back")
  func tls() async throws {
    let authority = try CertificateAuthority()
    let server = try LoopbackServer(tls: LoopbackTLS(try authority.issue(hosts: ["localhost"]))) { connection in
      while case let bytes = connection.read(max: 65_536), !bytes.isEmpty { try connection.write(bytes) }
    }
    var options = ConnectionOptions()
    options.tls.roots = .pem(Array(authority.rootPEM.utf8))
    let stream = try await CurlDialer.shared.dial(
      DialRequest(host: "localhost", port: server.port, tls: .init(), connection: options))
    try await stream.write(Data("hello".utf8))
    #expect(try await stream.read() == Data("hello".utf8))
    #expect(stream.facts.tls?.version == "TLSv1.3")
    try await stream.finishWriting()
    #expect(try await stream.read() == nil)
  }
}
