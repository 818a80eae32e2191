// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroEveryday
import TestSupport
import Testing

@Suite("Cached responses are separated by every credential field", .timeLimit(.minutes(15)))
struct CredentialFieldTests {
  @Test(
    "One user's response is not served to another, nor to a request without credentials", arguments: CredentialCase.all)
  func apart(given: CredentialCase) async throws {
    let world = CacheWorld(PrincipalTests.fields)
    let ann = try await world.get(fields: given.fields(of: "ann"))
    let bob = try await world.get(fields: given.fields(of: "bob"))
    let none = try await world.get()
    #expect([ann, bob, none].map(\.body) == ["body 0", "body 1", "body 2"])
    #expect(ann.report?.isStored == (given.kind != .opaque))
    #expect(none.report?.isStored == true)
  }

  @Test(
    "A user's next request is served from the cache, also with another signature, nonce or CSRF token",
    arguments: CredentialCase.stable + CredentialCase.keyed)
  func found(given: CredentialCase) async throws {
    let world = CacheWorld(PrincipalTests.fields)
    try await world.get(fields: given.fields(of: "bob", 0))
    try await world.get(fields: given.fields(of: "ann", 1))
    let again = try await world.get(fields: given.fields(of: "ann", 2))
    #expect(again.outcome == .hit && again.body == "body 1")
  }

  @Test(
    "A response to an anonymous signature is not stored, unless it is public or the request has a principal",
    arguments: CredentialCase.opaque)
  func notStored(given: CredentialCase) async throws {
    let world = CacheWorld(PrincipalTests.fields)
    for number in 0..<2 {
      let got = try await world.get(fields: given.fields(of: "ann"))
      #expect(got.body == "body \(number)" && got.report?.isStored == false)
    }
    let open = CacheWorld([.cacheControl: "public, max-age=60"])
    try await open.get(fields: given.fields(of: "ann"))
    #expect(try await open.get(fields: given.fields(of: "bob")).outcome == .hit)
    let named = CacheWorld(PrincipalTests.fields)
    for number in 0..<2 {
      let got = try await named.get(fields: given.fields(of: "ann", number)) { $0.principal = "ann" }
      #expect(got.body == "body 0")
    }
  }

  @Test("Explain shows the fields that select a response, or why it is not stored")
  func explained() async throws {
    func words(_ fields: HTTPFields, _ edit: (inout RequestOptions) -> Void = { _ in }) async throws -> String? {
      var options = RequestOptions()
      edit(&options)
      let resource = try RawHTTPResource.test(fields: fields, options: options)
      let explanation = await CacheWorld(PrincipalTests.fields).stack.explanation(of: resource)
      return explanation.transport.first { $0.name == "cache" }?.value
    }
    #expect(try await words([:]) == "standard; for requests without credentials")
    #expect(try await words([.authorization: "Bearer a"]) { $0.principal = "ann" } == "standard; for its principal")
    #expect(
      try await words([.authorization: "Bearer a", .apiKey: "k"])
        == "standard; for requests with the same Authorization and X-Api-Key")
    let signed = try #require(CredentialCase.keyed.first)
    #expect(
      try await words(signed.fields(of: "ann"))
        == "standard; for requests with the same user or key in Authorization")
    let opaque = try #require(CredentialCase.opaque.first)
    #expect(
      try await words(opaque.fields(of: "ann"))
        == """
        standard; not stored unless public, as X-Signature changes with each request and names no user or key: \
        set RequestOptions.principal
        """)
    #expect(
      try await words([:]) { $0.connection = .edited { $0.proxy = .none } }
        == "standard; for requests without credentials, over the same connection options")
    #expect(
      try await words([:]) { $0.connection = .edited { $0.tls.trustJudge = ScriptedJudge(accepts: { _ in true }) } }
        == "not used: the request has a trust judge or a name resolver of its own")
  }

  @Test("Another user's name without the password gives access to none of that user's responses")
  func wrongPassword() async throws {
    let world = CacheWorld(PrincipalTests.fields)
    let keyed = try #require(CredentialCase.keyed.dropFirst().first)
    for (number, password) in ["right-password", "wrong-password", "right-password"].enumerated() {
      let got = try await world.get(fields: keyed.fields(of: "ann", number)) { $0.secrets = [Secret(password)] }
      #expect(got.body == (number == 1 ? "body 1" : "body 0"))
    }
  }
}
