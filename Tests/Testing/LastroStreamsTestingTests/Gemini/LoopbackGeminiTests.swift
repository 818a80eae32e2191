// SPDX-License-Identifier: Apache-2.0

import LastroStreamsTesting
import LastroTesting
import TestSupport
import Testing

@Suite("Loopback Gemini server")
struct LoopbackGeminiTests {
  private let identity: MintedCertificate

  init() throws { identity = try CertificateMint.selfSigned(hosts: ["localhost"]) }

  private func ask(
    _ server: LoopbackGeminiServer, _ path: String = "/", trusting other: MintedCertificate? = nil,
    as own: MintedCertificate? = nil
  ) throws -> LoopbackClient {
    let roots = (other ?? identity).certificatePEM
    let client = try LoopbackClient(to: .port(UInt16(server.port)), trusting: roots, identity: own)
    try client.send(server.url(path) + "\r\n")
    return client
  }

  @Test("A request line is answered, and recorded with the name in the client's certificate")
  func answer() throws {
    let me = try CertificateMint.selfSigned(hosts: ["me"])
    let server = try LoopbackGeminiServer(identity: identity, clientAuthoritiesPEM: me.certificatePEM) { line in
      .success("you asked \(line)", type: "text/plain")
    }
    let answer = try ask(server, "/a?b", as: me).receiveAll()
    #expect(answer == ("20 text/plain\r\nyou asked \(server.url("/a?b"))", .orderly))
    #expect(server.requests == ["gemini://localhost:\(server.port)/a?b"])
    #expect(server.clients == ["me"])
    #expect(server.acceptedConnections == 1)
  }

  @Test("A client without the required certificate is not answered")
  func noClientCertificate() throws {
    let me = try CertificateMint.selfSigned(hosts: ["me"])
    let server = try LoopbackGeminiServer(identity: identity, clientAuthoritiesPEM: me.certificatePEM) { _ in
      .success("hello")
    }
    // With TLS 1.3 the client receives the rejection on its first read.
    #expect(try ask(server).receiveAll().text.isEmpty)
    #expect(server.requests.isEmpty)
  }

  @Test(
    "Each kind of end of a response is seen by the client as intended",
    arguments: [(.close, .orderly), (.truncate, .truncated), (.reset, .reset)]
      as [(LoopbackGeminiAnswer.End, LoopbackClient.Ending)])
  func ends(end: LoopbackGeminiAnswer.End, ending: LoopbackClient.Ending) throws {
    let server = try LoopbackGeminiServer(identity: identity) { _ in LoopbackGeminiAnswer("", end: end) }
    #expect(try ask(server).receiveAll() == ("", ending))
  }

  @Test("A silent server sends nothing until the client disconnects")
  func silence() throws {
    let server = try LoopbackGeminiServer(identity: identity) { _ in .silence }
    let client = try ask(server)
    client.halfClose()
    #expect(client.receiveAll().text.isEmpty)
    #expect(server.requests == [server.url()])
  }

  @Test("A piece size of zero or less counts as one", arguments: [1, 0, -1, .min])
  func pieces(pieceBytes: Int) throws {
    var answer = LoopbackGeminiAnswer.success("hello")
    answer.pieceBytes = pieceBytes
    let server = try LoopbackGeminiServer(identity: identity) { [answer] _ in answer }
    let client = try ask(server)
    // A read returns at most one TLS record.
    for byte in answer.bytes { #expect(client.receive().bytes == [byte]) }
    #expect(client.receive().ending == .orderly)
    #expect(LoopbackGeminiAnswer("", pieceBytes: pieceBytes).pieceBytes == 1)
    #expect(LoopbackGeminiAnswer.header(51).byteByByte.pieceBytes == 1)
  }

  @Test("Another certificate is presented to later connections; an unusable one leaves the server unchanged")
  func show() throws {
    let other = try CertificateMint.selfSigned(hosts: ["localhost"])
    let server = try LoopbackGeminiServer(identity: identity) { _ in .header(51, "no such page") }
    #expect(throws: LoopbackError.self) { try server.show(MintedCertificate(certificatePEM: "", privateKeyPEM: "")) }
    #expect(try ask(server).receiveAll().text == "51 no such page\r\n")
    try server.show(other)
    #expect(throws: LoopbackError.self) { try ask(server) }
    #expect(try ask(server, trusting: other).receiveAll().text == "51 no such page\r\n")
    #expect(server.requests.count == 2)
  }
}
