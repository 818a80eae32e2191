// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import LastroWire
import TestSupport
import Testing

@testable import Lastro
@testable import LastroSigning

@Suite("HTTP message signatures", .timeLimit(.minutes(15)))
struct MessageSignatureTests {
  private static let now: Int64 = 1_700_000_000

  private static func signer(
    _ components: [SignatureComponent] = [.method, .targetURI, .contentDigest], label: String = "sig1",
    lifetime: Duration? = nil, tag: String? = nil, hasNonce: Bool = false
  ) throws -> MessageSigner {
    try MessageSigner(
      SigningKey(pem: Secret(RFC9421.ed25519Private)), keyID: "shop", covering: components,
      origins: [Origin("https://api.example")], label: label, lifetime: lifetime, tag: tag, hasNonce: hasNonce,
      time: .at(now))
  }

  /// Returns a response that is signed like a request, with other components.
  private static func response(
    _ body: Data, _ components: String = #""@status" "content-digest""#, parameters: String = ";created=1700000000",
    keyID: String = "shop", fields: HTTPFields = [:], request: HTTPRequest? = nil, status: HTTPResponse.Status = .ok,
    digest: String? = nil
  ) throws -> HTTPResponse {
    var response = HTTPResponse(status: status, headerFields: fields)
    let digest = try digest ?? "sha-256=:\(try MessageDigest(of: body).base64):"
    response.headerFields[try #require(HTTPField.Name("Content-Digest"))] = digest
    let input = "(\(components))\(parameters);keyid=\"\(keyID)\""
    let read = try #require(StructuredReader.dictionary("a=\(input)".utf8)?["a"])
    guard case .list(let members) = read.content else { throw SignatureError(.malformed, "no list of components") }
    let items = members.compactMap(SignatureComponent.init)
    let base = try SignatureBase(request: request, response: response).bytes(items, input: input)
    let signature = Data(try SigningKey(pem: Secret(RFC9421.ed25519Private)).signature(of: base)).base64EncodedString()
    response.headerFields[try #require(HTTPField.Name("Signature-Input"))] = "a=\(input)"
    response.headerFields[try #require(HTTPField.Name("Signature"))] = "a=:\(signature):"
    return response
  }

  private static func verifier(
    _ required: [SignatureComponent] = [.status, .contentDigest], tag: String? = nil, at time: Int64 = now
  ) throws -> MessageVerifier {
    try MessageVerifier(
      keys: ["shop": VerifyingKey(pem: RFC9421.ed25519Public)], requiring: required, tag: tag, time: .at(time))
  }

  private static func code(
    _ response: HTTPResponse, _ body: Data, _ verifier: MessageVerifier, request: ResourceRequest? = nil
  ) -> SignatureError.Code? {
    do throws(SignatureError) {
      try verifier.verify(ResourceResponse(head: response, url: "https://api.example/"), body: body, request: request)
      return nil
    } catch {
      return error.code
    }
  }

  @Test("A request is signed with its time, its digest and the parameters")
  func request() async throws {
    let request = try ResourceRequest(method: .post, url: "https://api.example/pay?a=1", body: .raw("x"))
    let signed = try await Self.signer(lifetime: .seconds(60), tag: "t\"g").signing(request)
    #expect(
      signed.fields["signature-input"]
        == #"sig1=("@method" "@target-uri" "content-digest");created=1700000000;expires=1700000060;keyid="shop";tag="t\"g""#
    )
    #expect(signed.fields["content-digest"] == "sha-256=:LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIE=:")
    let verifier = try Self.verifier([.method, .targetURI, .contentDigest])
    _ = try verifier.verify(SignatureBase(request: signed.head), body: Data("x".utf8))
    #expect(throws: SignatureError.self) { try verifier.verify(SignatureBase(request: signed.head), body: Data()) }
    let empty = try await Self.signer(hasNonce: true).signing(ResourceRequest(url: "https://api.example/"))
    #expect(empty.fields["content-digest"] == nil)
    #expect(empty.fields["signature-input"]?.contains(#"("@method" "@target-uri");created="#) == true)
    #expect(empty.fields["signature-input"]?.contains(";nonce=") == true)
  }

  @Test("Two signers keep each other's signatures, and a second signing replaces the first")
  func labels() async throws {
    var request = try ResourceRequest(url: "https://api.example/")
    for label in ["a", "b", "a"] { request = try await Self.signer([.method], label: label).signing(request) }
    let input = #"("@method");created=1700000000;keyid="shop""#
    #expect(request.fields["signature-input"] == "b=\(input), a=\(input)")
    _ = try Self.verifier([.method]).verify(SignatureBase(request: request.head), body: Data())
  }

  @Test("Every component of a request has its value")
  func components() async throws {
    let request = try ResourceRequest(
      url: "https://api.example:8443/a%20b?x=1", headers: ["X-Map": "a=1, b=(2 3);c", "X-Two": " one ", "x-two": "two"])
    let expected = [
      #""@method": GET"#, #""@target-uri": https://api.example:8443/a%20b?x=1"#,
      #""@authority": api.example:8443"#, #""@scheme": https"#, #""@request-target": /a%20b?x=1"#,
      #""@path": /a%20b"#, #""@query": ?x=1"#, #""@query-param";name="x": 1"#, #""x-two": one, two"#,
      #""x-map";key="b": (2 3);c"#, #""x-two";bs: :b25l:, :dHdv:"#, #""@signature-params": ()"#,
    ]
    let components: [SignatureComponent] = [
      .method, .targetURI, .authority, "@scheme", "@request-target", .path, .query, .queryParameter("x"), "X-Two",
      SignatureComponent("x-map", [.init(name: "key", value: .string("b"))]),
      SignatureComponent("x-two", [.init(name: "bs", value: .boolean(true))]),
    ]
    let base = try SignatureBase(request: request.head).bytes(components, input: "()")
    #expect(String(decoding: base, as: UTF8.self).split(separator: "\n").map(String.init) == expected)
  }

  @Test(
    "A component that the message lacks, or that is not supported, is an error",
    arguments: [
      ("x-absent", "missing"), ("@status", "unsupported"), ("@other", "unsupported"), ("@query-param", "unsupported"),
    ])
  func absent(name: String, code: String) throws {
    let error = #expect(throws: SignatureError.self) {
      try SignatureBase(request: RFC9421.request).bytes([SignatureComponent(name)], input: "()")
    }
    #expect(error?.code.rawValue == code)
  }

  @Test("A response is accepted by its time, its key, its components and its digest")
  func responses() throws {
    let body = Data("hello".utf8)
    let usual = try Self.response(body)
    #expect(Self.code(usual, body, try Self.verifier()) == nil)
    #expect(Self.code(usual, Data("other".utf8), try Self.verifier()) == .mismatch)
    #expect(Self.code(usual, body, try Self.verifier(at: Self.now + 301)) == .expired)
    #expect(Self.code(usual, body, try Self.verifier(at: Self.now - 61)) == .expired)
    #expect(Self.code(usual, body, try Self.verifier(["content-type"])) == .uncovered)
    #expect(Self.code(usual, body, try Self.verifier(tag: "bank")) == .unsupported)
    var changed = usual
    changed.status = .created
    #expect(Self.code(changed, body, try Self.verifier()) == .mismatch)
    #expect(Self.code(try Self.response(body, keyID: "other"), body, try Self.verifier()) == .unknownKey)
    #expect(Self.code(try Self.response(body, parameters: ""), body, try Self.verifier()) == .missing)
    let expired = try Self.response(body, parameters: ";created=1700000000;expires=1700000001")
    #expect(Self.code(expired, body, try Self.verifier(at: Self.now + 1)) == nil)
    #expect(Self.code(expired, body, try Self.verifier(at: Self.now + 2)) == .expired)
    let algorithm = try Self.response(body, parameters: ";created=1700000000;alg=\"hmac-sha256\"")
    #expect(Self.code(algorithm, body, try Self.verifier()) == .unsupported)
    #expect(Self.code(HTTPResponse(status: .ok), body, try Self.verifier()) == .missing)
  }

  @Test("A signature over parts of the request needs the request")
  func ofRequest() throws {
    let body = Data("hello".utf8)
    let request = try ResourceRequest(url: "https://api.example/a")
    let response = try Self.response(
      body, #""@status" "content-digest" "@target-uri";req"#, request: request.head)
    let verifier = try Self.verifier([.status, SignatureComponent.targetURI.ofRequest])
    #expect(Self.code(response, body, verifier, request: request) == nil)
    #expect(Self.code(response, body, verifier) == .missing)
    let other = try ResourceRequest(url: "https://api.example/b")
    #expect(Self.code(response, body, verifier, request: other) == .mismatch)
  }

  @Test(
    "Fields that cannot be read are refused for their own reason",
    arguments: [
      ("a=", "a=:AA==:", .malformed), ("a=1\(fresh)", "a=:AA==:", .malformed),
      ("a=(\"@status\")\(fresh)", "a=1", .malformed), ("a=(\"@status\")\(fresh)", "b=:AA==:", .malformed),
      ("a=(\"@status\" \"@status\")\(fresh)", "a=:AA==:", .malformed),
      ("a=(1)\(fresh)", "a=:AA==:", .malformed), ("a=(\"@Status\")\(fresh)", "a=:AA==:", .malformed),
      ("a=()\(fresh);tag=\"\(String(repeating: "a", count: 17_000))\"", "a=:AA==:", .malformed),
      ((0..<9).map { "a\($0)=()\(fresh)" }.joined(separator: ","), "a0=:AA==:", .malformed),
      ((0..<8).map { "a\($0)=()\(fresh)" }.joined(separator: ","), "a0=:AA==:", .mismatch),
      ("a=(\(names(65)))\(fresh)", "a=:AA==:", .malformed), ("a=(\(names(64)))\(fresh)", "a=:AA==:", .missing),
      ("a=();created=99999999999999;keyid=\"shop\"", "a=:AA==:", .expired),
      ("a=();created=\"1\";keyid=\"shop\"", "a=:AA==:", .missing), ("a=();created=1700000000", "a=:AA==:", .unknownKey),
      ("a=()\(fresh)", "a=::", .mismatch), ("a=()\(fresh)", "a=:AA==:", .mismatch),
    ] as [(String, String, SignatureError.Code)])
  func hostile(input: String, signature: String, code: SignatureError.Code) throws {
    var response = HTTPResponse(status: .ok)
    response.headerFields[try #require(HTTPField.Name("Signature-Input"))] = input
    response.headerFields[try #require(HTTPField.Name("Signature"))] = signature
    #expect(Self.code(response, Data(), try Self.verifier([])) == code)
  }

  /// The parameters of a signature that is refused for no reason of theirs.
  private static let fresh = ";created=1700000000;keyid=\"shop\""

  private static func names(_ count: Int) -> String { (0..<count).map { "\"x-\($0)\"" }.joined(separator: " ") }

  @Test("A digest is compared however it is covered, and only by the members that are covered")
  func digests() throws {
    let body = Data("hello".utf8)
    for component in ["\"content-digest\"", "\"content-digest\";bs", "\"content-digest\";key=\"sha-256\""] {
      let response = try Self.response(body, "\"@status\" \(component)")
      #expect(Self.code(response, body, try Self.verifier([.status])) == nil)
      #expect(Self.code(response, Data("other".utf8), try Self.verifier([.status])) == .mismatch)
    }
    // The digest of the request says nothing about the body of the response.
    let request = try ResourceRequest(url: "https://api.example/", headers: ["Content-Digest": "sha-256=:AA==:"])
    let ofRequest = try Self.response(body, "\"@status\" \"content-digest\";req", request: request.head)
    #expect(Self.code(ofRequest, Data("other".utf8), try Self.verifier([.status]), request: request) == nil)
    #expect(Self.code(ofRequest, body, try Self.verifier(), request: request) == .uncovered)
    // The signed member is of an unknown algorithm, and the other one could be anyone's.
    var unknown = try Self.response(
      body, "\"@status\" \"content-digest\";key=\"x\"",
      digest: "x=:AA==:, sha-256=:\(try MessageDigest(of: body).base64):")
    #expect(Self.code(unknown, body, try Self.verifier([.status])) == .unsupported)
    unknown.status = .created
    #expect(Self.code(unknown, body, try Self.verifier([.status])) == .mismatch)
  }

  @Test("A response without content needs no digest, if its request or its signed status shows that it has none")
  func withoutContent() throws {
    let body = Data("hello".utf8)
    let head = try ResourceRequest(method: .head, url: "https://api.example/")
    let verifier = try Self.verifier()
    for status in [204, 205, 304] {
      let response = try Self.response(Data(), "\"@status\"", status: .init(code: status))
      #expect(Self.code(response, Data(), verifier) == nil)
      #expect(Self.code(response, body, verifier) == .uncovered)
      // Without the status in the signature, anyone could have changed it.
      let unsigned = try Self.response(Data(), "\"date\"", fields: [.date: "now"], status: .init(code: status))
      #expect(Self.code(unsigned, Data(), try Self.verifier([.contentDigest])) == .uncovered)
    }
    #expect(Self.code(try Self.response(Data(), "\"@status\""), Data(), verifier) == .uncovered)
    // A response to HEAD may have the digest of what GET would have returned.
    let response = try Self.response(body)
    #expect(Self.code(response, Data(), verifier, request: head) == nil)
    #expect(Self.code(response, Data(), verifier) == .mismatch)
    #expect(Self.code(try Self.response(body, "\"@status\""), Data(), verifier, request: head) == nil)
  }

  @Test("A decoding knows the request that was sent, with its Host field")
  func sentRequest() async throws {
    let body = Data("\"hello\"".utf8)
    for host in [nil, "shop.example"] {
      var sent = try ResourceRequest(method: .put, url: "https://api.example/a", body: .raw("x"))
      sent.options.hostField = host
      var head = sent.head
      if let host { head.authority = host }
      let signed = try Self.response(
        body, #""@status" "content-digest" "@method";req "@authority";req"#, request: head)
      let transport = ScriptedTransport([.respond(status: .ok, headers: signed.headerFields, body: body)])
      let resource = HTTPResource<String, any Error>(
        baseRequestMaking: .request(sent), decoding: .json().verified(by: try Self.verifier()), errorDecoding: .dummy)
      #expect(try await TransportNetworkStack(transport: transport).fetch(resource).value == "hello")
    }
  }

  @Test("An error of the API is decoded only if it is signed, and never from a payload that was refused")
  func errors() async throws {
    let body = Data("no".utf8)
    let signed = try Self.response(body, status: .badRequest)
    let transport = ScriptedTransport([
      .respond(status: .badRequest, headers: signed.headerFields, body: body),
      .respond(status: .badRequest, body: body),
      .respond(status: .ok, body: body),
    ])
    let stack = TransportNetworkStack(transport: transport)
    let verifier = try Self.verifier()
    func failure(_ errors: ErrorDecoding<TextAPIError, Data, ResourceResponse>) async throws
      -> HTTPFetchError<TextAPIError>
    {
      let resource = HTTPResource<String, TextAPIError>(
        baseRequestMaking: .request(try ResourceRequest(url: "https://api.example/")),
        decoding: .json().verified(by: verifier), errorDecoding: errors)
      return try await #require(throws: HTTPFetchError<TextAPIError>.self) { try await stack.fetch(resource) }
    }
    #expect(try await failure(.text.verified(by: verifier)).apiError?.text == "no")
    let unsigned = try await failure(.text.verified(by: verifier))
    #expect(unsigned.apiError == nil && (unsigned.apiErrorDecodingFailure as? SignatureError)?.code == .missing)
    let refused = try await failure(.text)
    #expect(refused.stage == .decode && refused.apiError == nil)
  }

  @Test("A decoding refuses a response that is not signed before it decodes it")
  func decoding() async throws {
    let body = Data("\"hello\"".utf8)
    let signed = try Self.response(body)
    let transport = ScriptedTransport([
      .respond(status: .ok, headers: signed.headerFields, body: body), .respond(status: .ok, body: body),
    ])
    let stack = TransportNetworkStack(transport: transport)
    let verifier = try Self.verifier()
    let resource = HTTPResource<String, any Error>(
      baseRequestMaking: .request(try ResourceRequest(url: "https://api.example/")),
      decoding: .json().verified(by: verifier), errorDecoding: .dummy)
    #expect(try await stack.fetch(resource).value == "hello")
    let error = try await #require(throws: HTTPFetchError<any Error>.self) { try await stack.fetch(resource) }
    guard case .decode(let failure) = error.reason else { throw error }
    #expect((failure.underlying as? SignatureError)?.code == .missing)
  }

  @Test("Invalid settings are refused with a hint")
  func settings() throws {
    func refused(
      _ part: String, _ make: () throws -> Void, at location: SourceLocation = #_sourceLocation
    ) {
      let error = #expect(throws: ConfigurationError.self, sourceLocation: location) { try make() }
      #expect(error?.message.contains(part) == true && error?.hint != nil, sourceLocation: location)
    }
    let origins = [try Origin("https://api.example")]
    let key = try SigningKey(secret: RFC9421.secret)
    func signer(
      _ components: [SignatureComponent] = [.method], origins: [Origin], label: String = "a", keyID: String = "k",
      lifetime: Duration? = nil
    ) throws {
      _ = try MessageSigner(
        key, keyID: keyID, covering: components, origins: origins, label: label, lifetime: lifetime)
    }
    refused("origins") { try signer(origins: []) }
    refused("label") { try signer(origins: origins, label: "A b") }
    refused("label") { try signer(origins: origins, label: "") }
    refused("printable") { try signer(origins: origins, keyID: "ä") }
    refused("lifetime") { try signer(origins: origins, lifetime: .zero) }
    refused("lifetime") { try signer(origins: origins, lifetime: .seconds(Int64.max)) }
    refused("twice") { try signer([.method, .method], origins: origins) }
    for component: SignatureComponent in [
      .status, "content-length", "signature", "a b", "@query-param", SignatureComponent.method.ofRequest,
    ] {
      refused("cannot be signed") { try signer([component], origins: origins) }
    }
    refused("no keys") { _ = try MessageVerifier(keys: [:]) }
    refused("age") { _ = try MessageVerifier(keys: ["a": VerifyingKey(secret: RFC9421.secret)], maximumAge: .zero) }
    refused("no name") {
      _ = try MessageSigner(
        SigningKey(pem: Secret(RFC9421.rsaPrivate), algorithm: .rsaPSS256), keyID: "k", origins: origins)
    }
  }
}
