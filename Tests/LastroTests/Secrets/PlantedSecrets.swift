// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes

@testable import Lastro

#if canImport(Glibc)
  import Glibc
#endif

/// Where a secret is planted; each has its own, so that a search tells which one came out.
enum Planted: String, CaseIterable {
  case header, cookie, basicPassword, query, pathSegment, jsonField, formField, proxyPassword, keyPassword, sessionToken

  /// Its text: nothing that a name would give away, and a bit of all that notations escape.
  var text: String {
    switch self {
    // Blanks and quotes would end a cookie.
    case .cookie: "c00kie-+/%41=~\\é-" + rawValue
    default: rawValue + " s3c\"r%2Ft\\/&=+<é🔑>'~"
    }
  }

  var secret: Secret { Secret(text) }

  /// What a server might repeat: each secret in every notation, one a line.
  static let echo: String = {
    allCases.flatMap { planted in
      SecretMatcherTests.notations(of: planted.text).map {
        "it was \($0.text) in " + String(planted.rawValue.prefix(2))
      }
    }.joined(separator: "\n")
  }()

  /// The same in what may stand in a header field, and in a URL.
  static let echoField: String = {
    allCases.map { "[" + $0.text + "] " + Data($0.text.utf8).base64EncodedString() }.joined(separator: ", ")
  }()

  static let echoURL: String = {
    let texts = allCases.map(\.text)
    let path = texts.map { $0.percentEncoded(keeping: .unreserved) }.joined(separator: "/")
    return "/echo/" + path + "?" + texts.map { "q=" + $0.pathSegment.lowercasedEscapes }.joined(separator: "&")
  }()

  /// The secrets that are in a text, by place and notation.
  static func found(in text: String) -> [String] {
    // C's search is the one that is fast in a debug build; it stops at a NUL.
    text.replacing("\0", with: " ").withCString { text in
      notations.filter { notation in notation.text.withCString { strstr(text, $0) != nil } }.map(\.name)
    }
  }

  private static let notations: [(name: String, text: String)] = allCases.flatMap { planted in
    // A list of numbers is how `dump` shows bytes, each after a dash.
    let numbers = planted.text.utf8.prefix(12).map(String.init)
    return SecretMatcherTests.notations(of: planted.text).filter { !$0.name.hasPrefix("base64 of") }.map {
      ("\(planted.rawValue), \($0.name)", $0.text)
    } + [
      ("\(planted.rawValue), as Basic credentials", Data("ann:\(planted.text)".utf8).base64EncodedString()),
      ("\(planted.rawValue), as numbers", numbers.joined(separator: ", ")),
      (
        "\(planted.rawValue), without what follows a quote",
        String(planted.text.prefix(planted == .cookie ? 9 : planted.rawValue.count + 5))
      ),
    ]
  }
}

extension String {
  /// Percent-encoding in lower case.
  var lowercasedEscapes: String { SecretMatcherTests.lowerCaseEscapes(self) }
}

/// An endpoint with a secret wherever one may be.
struct SecretEndpoint: HTTPResourceEndpoint {
  /// What the body is.
  enum Body: String, CaseIterable {
    case json, form
  }

  /// The same request made of plain strings is what the search must find everything in.
  var isMarked = true
  var body = Body.json

  struct Note: Encodable {
    var note: Secret
    var title = "note"
  }

  var method: HTTPRequest.Method { .put }
  var baseURL: URL { URL(string: "https://example.com/v1") ?? URL(filePath: "/") }
  var path: String? { isMarked ? "/notes" : "/notes/" + Planted.pathSegment.text.pathSegment }
  var queryItems: [URLQueryItem]? {
    [URLQueryItem(name: "x", value: "1")]
      + (isMarked ? [] : [URLQueryItem(name: "q", value: Planted.query.text)])
  }

  var headers: RawHeaders? {
    isMarked
      ? ["X-Plain": "plain"]
      : [
        "X-Note": Planted.header.text, "X-Biscuit": "sid=" + Planted.cookie.text,
        "X-Basic": "Basic " + Self.basic.reveal(),
      ]
  }

  var options: RequestOptions {
    var options = RequestOptions()
    options.operation = "putNote"
    options.connection = ConnectionOptions()
    let password = Planted.proxyPassword.text.percentEncoded(keeping: .unreserved)
    options.connection?.proxy = .url("http://joe:\(password)@proxy.example:8080")
    options.connection?.tls.identity = .init(certificate: .file("/c.pem"), keyPassword: Planted.keyPassword.text)
    if isMarked {
      options.secrets = [Planted.basicPassword.secret]
    } else {
      options.connection = nil
    }
    return options
  }

  static let basic = Secret(Data("ann:\(Planted.basicPassword.text)".utf8).base64EncodedString())

  func makeBody() throws -> RequestBody? {
    switch (body, isMarked) {
    case (.json, true): try .json(Note(note: Planted.jsonField.secret))
    case (.form, true): .form(["title": "note"], secrets: ["note": Planted.formField.secret])
    case (.json, false): try .json(["note": Planted.jsonField.text])
    case (.form, false): .form(["note": Planted.formField.text])
    }
  }

  func addSecrets(to request: inout ResourceRequest) throws {
    guard isMarked else { return }
    try request.setHeader("X-Note", Planted.header.secret)
    try request.setHeader("Cookie", Planted.cookie.secret, prefix: "sid=")
    try request.setHeader("Authorization", Self.basic, prefix: "Basic ")
    try request.appendQueryItem("q", Planted.query.secret)
    try request.appendPathSegment(Planted.pathSegment.secret)
    // The server repeats that of the other body too.
    request.options.secrets.insert(body == .json ? Planted.formField.secret : Planted.jsonField.secret)
  }
}

/// Adds a secret as an authenticator does.
struct SessionInterceptor: HTTPResourceInterceptor {
  var isMarked = true

  func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> {
    result.flatMap { request in
      Result {
        var request = request
        if isMarked {
          try request.setHeader("X-Session", Planted.sessionToken.secret, prefix: "v1 ")
        } else {
          try request.setHeader("X-Visit", Planted.sessionToken.text)
        }
        return request
      }
    }
  }
}
