// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import LastroWire
import TestSupport
import Testing

@testable import Lastro

@Suite("Challenges", .ownThread)
struct ChallengeParserTests {
  /// Returns the challenges as `scheme name=value name=value`, separated by `|`.
  private static func text(_ challenges: [AuthenticationChallenge]) -> String {
    challenges.map { challenge in
      ([challenge.scheme] + [challenge.token68].compactMap { $0 }
        + challenge.parameters.map { "\($0.name)=<\($0.value)>" }).joined(separator: " ")
    }.joined(separator: "|")
  }

  @Test(
    "The grammar of RFC 9110 is accepted",
    arguments: [
      ("", ""), (" , ,", ""), ("Basic", "basic"), ("Negotiate", "negotiate"),
      (#"Basic realm="simple""#, "basic realm=<simple>"),
      (
        #"Newauth realm="apps", type=1, title="Login to \"apps\"", Basic realm="simple""#,
        #"newauth realm=<apps> type=<1> title=<Login to "apps">|basic realm=<simple>"#
      ),
      ("Negotiate YII/+-._~==, NTLM,Basic realm=x", "negotiate YII/+-._~==|ntlm|basic realm=<x>"),
      (",, Digest realm = \"a, b=c\" ,, nonce\t=\tn ,", "digest realm=<a, b=c> nonce=<n>"),
      (#"DIGEST Realm="\\\a\"","#, #"digest realm=<\a">"#),
      (#"Bearer realm="", error="invalid_token""#, "bearer realm=<> error=<invalid_token>"),
      ("A a=1, B, C b=2, D c", "a a=<1>|b|c b=<2>|d c"),
      ("A a=, B", "a a=|b"), (#"A realm="ü""#, "a realm=<ü>"),
    ])
  func grammar(value: String, expected: String) {
    #expect(Self.text(AuthenticationChallenge.read(value)) == expected)
  }

  @Test(
    "A malformed challenge ends the field, and those complete before it count",
    arguments: [
      (#"Basic realm="x"#, ""), (#"Basic realm="x\"#, ""), (#"Basic realm="x" y"#, ""), ("a=1, Basic", ""),
      (#"Basic realm="x", Digest realm="y" nonce="z""#, "basic realm=<x>"), ("Basic, Digest a==b", "basic"),
      ("Basic, Digest a=b c=d", "basic"), ("Basic,\u{1}", ""), ("Basic(x)", ""), ("Basic realm=x, =", ""),
    ])
  func malformed(value: String, expected: String) {
    #expect(Self.text(AuthenticationChallenge.read(value)) == expected)
  }

  @Test("Challenges of all fields are read together, up to a limit")
  func fields() {
    var fields = HTTPFields()
    for index in 0..<20 { fields.append(HTTPField(name: .wwwAuthenticate, value: "A\(index) a=1, B")) }
    let challenges = AuthenticationChallenge.challenges(in: fields)
    #expect(challenges.count == 32 && challenges.first?.scheme == "a0" && challenges.last?.scheme == "b")
    let long = "Basic realm=\"" + String(repeating: "x", count: 20_000) + "\""
    #expect(AuthenticationChallenge.read(long).isEmpty)
  }

  @Test("Authentication-Info contains parameters only")
  func information() {
    let read = AuthenticationChallenge.information(in: #"nextnonce="a b", qop=auth,rspauth="x""#)
    #expect(read?["nextnonce"] == "a b" && read?["rspauth"] == "x" && read?["qop"] == "auth")
    for value in ["", "x", "Digest a=1", "a=1, Digest b=2", "a=\"", "a=1 b=2"] {
      #expect(AuthenticationChallenge.information(in: value)?.parameters.isEmpty ?? true)
    }
  }

  @Test("Arbitrary input is read without a trap, and yields only what it contains")
  func fuzz() {
    let random = RandomSource.seeded(7616)
    let alphabet = Array("Digest Basic realm=\"x\\, \tnonce==~/+;:\u{1}\u{FF}é\r\n,,,===\"\"\"aqop".unicodeScalars)
    for _ in 0..<20_000 {
      var text = ""
      for _ in 0..<(random.next() % 60) {
        text.unicodeScalars.append(alphabet[Int(random.next() % UInt64(alphabet.count))])
      }
      let challenges = AuthenticationChallenge.read(text)
      #expect(challenges.count <= text.utf8.count)
      for challenge in challenges {
        #expect(!challenge.scheme.isEmpty && text.lowercased().contains(challenge.scheme))
        #expect(challenge.scheme.utf8.allSatisfy(ByteSet.token.contains))
        #expect(challenge.token68 == nil || challenge.parameters.isEmpty)
        for parameter in challenge.parameters {
          #expect(!parameter.name.isEmpty && parameter.name.utf8.allSatisfy(ByteSet.token.contains))
        }
        _ = DigestChallenge(challenge)
      }
      _ = AuthenticationChallenge.information(in: text)
    }
  }

  @Test("A written challenge is read back")
  func roundTrip() throws {
    let random = RandomSource.seeded(9110)
    for _ in 0..<2_000 {
      var realm = ""
      for _ in 0..<(random.next() % 20) {
        realm.unicodeScalars.append(Unicode.Scalar(UInt8(0x20 + random.next() % 95)))
      }
      let escaped = realm.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
      let read = AuthenticationChallenge.read("X token68==, Digest realm=\"\(escaped)\", nonce=n, Y")
      #expect(Self.text(read) == "x token68==|digest realm=<\(realm)> nonce=<n>|y")
    }
  }
}
