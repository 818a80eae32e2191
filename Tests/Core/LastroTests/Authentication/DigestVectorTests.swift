// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroWire
import TestSupport
import Testing

@testable import Lastro

@Suite("Digest authentication: examples of the standards")
struct DigestVectorTests {
  private static func challenge(_ text: String) throws -> DigestChallenge {
    try #require(DigestChallenge.strongest(of: AuthenticationChallenge.read(text), allowsMD5: true))
  }

  /// Returns the parameters of the digest answer by name.
  private static func answer(
    _ challenge: DigestChallenge, user: String = "Mufasa", password: Secret, method: String = "GET",
    target: String = "/dir/index.html", body: RequestBody = .empty, clientNonce: String, count: UInt32 = 1,
    session: DigestAnswer.Session? = nil
  ) throws -> (header: String, parameters: AuthenticationChallenge) {
    let answer = DigestAnswer(
      challenge: challenge, user: user, password: password, method: method, target: target,
      protection: challenge.protection(for: body), count: count, clientNonce: clientNonce, session: session)
    let header = try answer.authorization().reveal()
    return (header, try #require(AuthenticationChallenge.read(header).first))
  }

  @Test(
    "The example of RFC 7616 §3.9.1 is reproduced with SHA-256, and with MD5 if nothing else is known",
    arguments: [
      ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
      ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
    ])
  func rfc7616(algorithm: String, response: String) throws {
    let challenge = try Self.challenge(
      """
      Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=\(algorithm), \
      nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
      """)
    let (header, parameters) = try Self.answer(
      challenge, password: "Circle of Life", clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ")
    #expect(parameters["response"] == response)
    #expect(
      header == """
        Digest username="Mufasa", realm="http-auth@example.org", \
        nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", uri="/dir/index.html", response="\(response)", \
        algorithm=\(algorithm), qop=auth, nc=00000001, cnonce="f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", \
        opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
        """)
  }

  /// Uses the values of erratum 4897: the RFC's values were computed with SHA-512 cut in half.
  @Test("The example of RFC 7616 §3.9.2 is reproduced: SHA-512-256 with a hashed user name beyond ASCII")
  func userHash() throws {
    let challenge = try Self.challenge(
      """
      Digest realm="api@example.org", qop="auth", algorithm=SHA-512-256, \
      nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", opaque="HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS", \
      charset=UTF-8, userhash=true
      """)
    let (_, parameters) = try Self.answer(
      challenge, user: "Jäsøn Doe", password: "Secret, or not?", target: "/doe.json",
      clientNonce: "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v")
    #expect(parameters["username"] == "793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b")
    #expect(parameters["response"] == "3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5")
    #expect(parameters["userhash"] == "true" && parameters["algorithm"] == "SHA-512-256")
    #expect(parameters["opaque"] == "HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS")
  }

  /// Uses RFC 2617's example. The other forms were computed from it with Python's `hashlib`.
  @Test(
    "The examples of RFC 2617 §3.5 and RFC 2069 are reproduced, with session and body protection",
    arguments: [
      ("qop=\"auth,auth-int\"", "GET", "auth", "6629fae49393a05397450978507c4ef1"),
      ("qop=\"auth\", algorithm=md5-SESS", "GET", "auth", "8e3825c57e897f5a0dec6c2d4e5059d0"),
      ("qop=\"AUTH-INT\"", "POST", "auth-int", "31acff116b570c1d227b3736bd60821d"),
      ("stale=false", "GET", nil, "670fd8c2df070c60b045671b8b24ff02"),
    ] as [(String, String, String?, String)])
  func rfc2617(parameter: String, method: String, protection: String?, response: String) throws {
    let challenge = try Self.challenge(
      """
      Digest realm="testrealm@host.com", \(parameter), nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", \
      opaque="5ccc069c403ebaf9f0171e9517f40e41"
      """)
    let (_, parameters) = try Self.answer(
      challenge, password: "Circle Of Life", method: method, body: method == "POST" ? .raw("a=b") : .empty,
      clientNonce: "0a4f113b")
    #expect(parameters["response"] == response && parameters["qop"] == protection)
    #expect(parameters["nc"] == (protection == nil ? nil : "00000001"))
    #expect(parameters["cnonce"] == (protection == nil ? nil : "0a4f113b"))
    #expect(parameters["algorithm"] == (parameter.contains("SESS") ? "MD5-sess" : nil))
  }

  @Test("A session continues with its initial nonces")
  func session() throws {
    let challenge = try Self.challenge("Digest realm=r, nonce=second, qop=auth, algorithm=SHA-256-sess")
    let session = DigestAnswer.Session(nonce: "first", clientNonce: "c")
    let response = try Self.answer(challenge, password: "p", clientNonce: "c", count: 0x10, session: session).parameters
    func hash(_ text: String) throws -> String { try MessageDigest(of: Array(text.utf8)).hexadecimal }
    let secret = try hash("\(try hash("Mufasa:r:p")):first:c")
    #expect(
      response["response"] == (try hash("\(secret):second:00000010:c:auth:\(try hash("GET:/dir/index.html"))")))
  }

  @Test("Echoed values are quoted again, and the digest covers the text without its escapes")
  func quoting() throws {
    let challenge = try Self.challenge(#"Digest realm="a \"b\" \\", nonce="n,\o", opaque="""#)
    let (header, parameters) = try Self.answer(challenge, user: #"x"y\"#, password: "p", clientNonce: "c")
    #expect(header.hasPrefix(#"Digest username="x\"y\\", realm="a \"b\" \\", nonce="n,o", uri="/dir/index.html""#))
    #expect(header.hasSuffix(#", opaque="""#))
    func hash(_ text: String) throws -> String { try MessageDigest(of: Array(text.utf8), .md5).hexadecimal }
    let secret = try hash(#"x"y\:a "b" \:p"#)
    #expect(parameters["response"] == (try hash("\(secret):n,o:\(try hash("GET:/dir/index.html"))")))
  }

  @Test("A user name beyond ASCII uses RFC 8187 if the server reads UTF-8, and plain bytes otherwise")
  func userNames() throws {
    let modern = try Self.challenge("Digest realm=r, nonce=n, qop=auth, charset=utf-8")
    let header = try Self.answer(modern, user: "Jäsøn Doe", password: "p", clientNonce: "c").header
    #expect(header.hasPrefix("Digest username*=UTF-8''J%C3%A4s%C3%B8n%20Doe, realm="))
    let older = try Self.challenge("Digest realm=r, nonce=n, qop=auth")
    #expect(try Self.answer(older, user: "Jä", password: "p", clientNonce: "c").header.contains("username=\"Jä\""))
    #expect(try Self.answer(modern, user: "Jo", password: "p", clientNonce: "c").header.contains("username=\"Jo\""))
  }

  @Test(
    "The first challenge other than MD5 is answered, MD5 only as the last choice, and no unsupported one",
    arguments: [
      ("Digest realm=r, nonce=1, algorithm=MD5, Digest realm=r, nonce=2, algorithm=SHA-256", "2"),
      ("Digest realm=r, nonce=1, algorithm=SHA-512-256, Digest realm=r, nonce=2, algorithm=SHA-256", "1"),
      ("Digest realm=r, nonce=1, algorithm=SHA-256, Digest realm=r, nonce=2, algorithm=SHA-512-256", "1"),
      ("Digest realm=r, nonce=1, algorithm=SHA-3, Digest realm=r, nonce=2", "2"),
      ("Basic realm=r, Digest realm=r, nonce=1, Negotiate abc=", "1"), ("Digest realm=r, nonce=1, nonce=2", nil),
      ("Digest realm=r", nil), ("Digest nonce=1", nil), ("Digest realm=r, nonce=1, qop=token", nil),
      ("Digest realm=r, nonce=1, qop=\"token auth\"", "1"), ("Digest realm=r, nonce=1, qop=\"\"", "1"),
      ("Digest realm=r, nonce=1, algorithm=MD5-sess", nil), ("Digest realm=r, nonce=1, algorithm=\"\"", nil),
      ("Digest x", nil), ("Basic realm=r, nonce=1", nil),
    ] as [(String, String?)])
  func selection(text: String, nonce: String?) {
    let challenges = AuthenticationChallenge.read(text)
    let chosen = DigestChallenge.strongest(of: challenges, allowsMD5: true)
    #expect(chosen?.nonce == nonce)
    let strict = DigestChallenge.strongest(of: challenges, allowsMD5: false)
    #expect(strict?.nonce == (chosen?.algorithm.hash == .md5 ? nil : nonce))
  }

  @Test("An algorithm that OpenSSL lacks, such as MD5 under FIPS, is not answered")
  func availability() {
    let challenges = AuthenticationChallenge.read(
      "Digest realm=r, nonce=1, algorithm=SHA-512-256, Digest realm=r, nonce=2, algorithm=SHA-256, Digest realm=r, nonce=3"
    )
    func chosen(_ available: HashAlgorithm...) -> String? {
      DigestChallenge.strongest(of: challenges, allowsMD5: true, isAvailable: available.contains)?.nonce
    }
    #expect(chosen(.sha256, .md5) == "2" && chosen(.md5) == "3" && chosen() == nil)
  }

  @Test("A challenge with an echoed value longer than the limit is ignored")
  func bound() {
    let long = "Digest realm=r, nonce=" + String(repeating: "n", count: 4095)
    #expect(DigestChallenge.strongest(of: AuthenticationChallenge.read(long), allowsMD5: true) != nil)
    #expect(DigestChallenge.strongest(of: AuthenticationChallenge.read(long + "n"), allowsMD5: true) == nil)
  }
}
