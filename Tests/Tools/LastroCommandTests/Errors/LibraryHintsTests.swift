// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import LastroCommand

@Suite("Hints of the library in the program", .ownThread)
struct LibraryHintsTests {
  /// The hints with names in Swift that the program does not translate, by the reason.
  private static let untranslated: [(reason: String, hints: [String])] = [
    (
      "the names are members of the JSON in a policy file",
      [
        "add expires, or drop afterExpiration",
        #"add afterExpiration: "refuse" cuts off until it is renewed, "fallBack" continues without pins"#,
        "write the name alone, and includeSubdomains: true", "write the JSON member ipAddress instead of domain",
        "write a policy for each domain that you own, or includeSubdomains: false",
        "write a policy for each domain below it, such as corp.…, or includeSubdomains: false",
        "add a key kept elsewhere: losing the only one locks clients out; or set enforceBackupPin: false",
        "drop includeSubdomains", "write either domain or ipAddress",
      ]
    ),
    (
      "the pin is an example of Base64",
      ["write sha256/ and the Base64 of 32 bytes: sha256/r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E="]
    ),
    (
      "the name is interpolated, and HintWords.table has all its values",
      ["raise Timeouts.…, or find the cause of the delay"]
    ),
    (
      "the program obtains no tokens: -u and --bearer are the only credentials",
      [
        "use Bearer, or conform to RequestAuthenticator for other schemes", "give 1 or more, or nil for no limit",
        "use https, or set allowsInsecureTokenURL: true to send them anyway",
        "for a client without a secret, use the authentication .none",
        "give one that the token endpoint issued, or nil",
        "give it a stack, or use it through a BearerAuthenticator of a stack",
      ]
    ),
    (
      "the program's requests have an absolute URL, a body of known length or none, no key and no required body",
      [
        "use an optional model, or NoContent, if a response without body is expected", "give nil if it is not known",
        "give a UUID, or .generatedKey",
        "add it by an interceptor, such as .apiKey(…), which sends it to its own servers only",
        "set StackConfiguration.baseURL, declare the endpoint's baseURL, or begin the URL with https://",
        "make the request from baseURL, or leave StackConfiguration.baseURL out",
      ]
    ),
    (
      "the program checks the value before it passes it on, or passes a constant",
      [
        "call SPKIHash(_:) without the label pem", "give 0 or more, or nil for the default",
        "make it with URL(filePath:)", "let ServerTrustJudge.revision change only when the rules do",
        "lower maximumMessageBytes, which holds for every message", "give nil for the URL's",
      ]
    ),
    (
      "only an own dialer, resolver or stream of a program in Swift can cause the error",
      [
        "write before finishWriting", "let it throw a TransportError",
        "throw a TransportError to choose the stage and the code",
        "call addingTLS(connection:) on the dialer; chains do so automatically",
        "trust on first use needs a dialer that asks DialRequest.TLS.soleJudge",
      ]
    ),
    (
      "the program has no egress policy, circuit breaker or limiter, and replays no archive",
      [
        "set ConnectionOptions.proxy to .none, or EgressPolicy.trustsProxies to true if it enforces a policy",
        "call EgressPolicy.allow for it, if it is meant to be reached",
        "pass a smaller range to EgressPolicy.deny or addNAT64Prefix, if it is meant to be reached",
        "wait until the server works again, or give CircuitBreaker other options",
        "send less at once, or give ConcurrencyLimiter a longer queue",
        "record it with a higher maximumBodyBytes of the HARRecorder, and not as a stream",
        "record again, or replay with matching: .loose",
      ]
    ),
    (
      "the program reads no JSON Lines, lines or parts of a response, and no operations",
      [
        "the parameter firstText", "raise maximumTextBytes, or check whether each line is a JSON text",
        "raise lines(maximumBytes:), or check whether the body is text",
        "name that origin in the parameter origins if it may have the credentials, never from https to http; "
          + "the operation continues, and an OperationHandle made from the error's response can wait for it",
        "raise maximumFields if the server is trusted", "raise maximumParts if the server is trusted",
      ]
    ),
    (
      "the program does not use Connection, which is for programs in Swift",
      [
        "use .tcp: it carries no datagrams", "use .tcp, or leave the framers out",
        "use .hostPort with an IPv4 address, an IPv6 address or a name",
        "give the transport a ConnectionFactory, which can make more",
        "receive in pieces, or raise maximumMessageBytes", "prepend before markReady()",
        "send nil with ProtocolFramer.Message(geminiRequest:) in the context",
      ]
    ),
    ("the program runs no scripts", ["add a step, or a handler, to the ScriptedTransport"]),
  ]

  @Test("Every hint of the library with a name in Swift is translated, or has a reason why it need not be")
  func translated() throws {
    let hints = try LibraryHints().places
    #expect(hints.count > 400, "the sources are not read as they should be")
    let exempt = Set(Self.untranslated.flatMap(\.hints))
    for (hint, place) in hints where !exempt.contains(hint) {
      let name = LibraryHints.swiftName(in: HintWords.text(hint))
      #expect(name == nil, "\(place): \(name ?? ""): \(HintWords.text(hint))")
    }
  }

  @Test("Every hint that need not be translated is in the sources, and has a name in Swift")
  func exempt() throws {
    let hints = try LibraryHints().places
    for (reason, texts) in Self.untranslated {
      for text in texts {
        #expect(hints[text] != nil && LibraryHints.swiftName(in: HintWords.text(text)) != nil, "\(reason): \(text)")
      }
    }
  }

  @Test("Names in Swift are found in hints, and words of English are not taken for them")
  func names() {
    for text in ["raise Timeouts.total", "give .v1_2", "or nil", "call close()", "set httpVersion", "a BearerToken"] {
      #expect(LibraryHints.swiftName(in: text) != nil, "\(text)")
    }
    for text in ["check openssl.cnf, and OpenSSL", "use https or http", "leave Host (in -H) out", "give 1…65535"] {
      #expect(LibraryHints.swiftName(in: text) == nil, "\(text)")
    }
  }
}
