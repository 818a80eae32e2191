// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroSupport

/// A line of `lastro batch`.
struct BatchRequest: Decodable {
  var id: JSONValue?
  var specification: RequestSpecification
  var includesBody = false

  private enum Key: String, CodingKey, CaseIterable {
    case id, url, method, headers, body
    case bodyBase64 = "body_base64"
    case cacert, capath, cert, key, proxy, noproxy, resolve, spiffe
    case tlsVersion = "tls_version"
    case tlsMax = "tls_max"
    case ciphers
    case tls13Ciphers = "tls13_ciphers"
    case certStatus = "cert_status"
    case keyLog = "key_log"
    case unixSocket = "unix_socket"
    case httpVersion = "http_version"
    case maxRedirects = "max_redirects"
    case maxBody = "max_body"
    case connectTimeout = "connect_timeout"
    case attemptTimeout = "attempt_timeout"
    case idleTimeout = "idle_timeout"
    case timeout, retries, backoff
    case retryAll = "retry_all"
    case bearer, basic, digest
    case includeBody = "include_body"
  }

  init(from decoder: any Decoder) throws {
    let names = try decoder.container(keyedBy: AnyKey.self).allKeys.map(\.stringValue)
    if let unknown = names.sorted().first(where: { Key(rawValue: $0) == nil }) {
      throw ConfigurationError(
        "unknown key \"\(unknown.onOneLine)\"",
        hint: "the keys are \(Key.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    let read = Fields(container: try decoder.container(keyedBy: Key.self))
    id = try read(.id)
    guard let url: String = try read(.url) else {
      throw ConfigurationError("the key \"url\" is missing", hint: "give an https or http URL")
    }
    var result = RequestSpecification(url: url)
    result.method = try read(.method)
    result.headers = try Self.headers(try read(.headers) ?? [])
    result.body = try Self.body(text: try read(.body), base64: try read(.bodyBase64))
    result.httpVersion = try read(.httpVersion)
    result.maxRedirects = try read(.maxRedirects)
    result.maxBody = try read(.maxBody)
    result.connectTimeout = try read(.connectTimeout)
    result.attemptTimeout = try read(.attemptTimeout)
    result.idleTimeout = try read(.idleTimeout)
    result.timeout = try read(.timeout)
    result.retries = try read(.retries)
    if let text: String = try read(.backoff) {
      guard let backoff = RequestSpecification.Backoff(text) else {
        throw ConfigurationError(
          "the backoff \"\(text.onOneLine)\" cannot be parsed", hint: "write constant:SECONDS or exponential:SECONDS")
      }
      result.backoff = backoff
    }
    result.retryAll = try read(.retryAll) ?? false
    result.bearer = try read(.bearer)
    result.basic = try read(.basic)
    result.digest = try read(.digest)
    try Self.readConnection(read, into: &result)
    includesBody = try read(.includeBody) ?? false
    specification = result
  }

  private struct Fields {
    let container: KeyedDecodingContainer<Key>

    func callAsFunction<T: Decodable>(_ key: Key) throws -> T? {
      do {
        return try container.decodeIfPresent(T.self, forKey: key)
      } catch {
        throw ConfigurationError(
          "the value of \"\(key.rawValue)\" is not of type \(T.self)", hint: "write it in JSON's notation")
      }
    }
  }

  private static func readConnection(_ read: Fields, into result: inout RequestSpecification) throws {
    result.cacert = try read(.cacert)
    result.capath = try read(.capath)
    result.tlsVersion = try read(.tlsVersion)
    result.tlsMax = try read(.tlsMax)
    result.ciphers = try read(.ciphers)
    result.tls13Ciphers = try read(.tls13Ciphers)
    result.certStatus = try read(.certStatus) ?? false
    result.spiffe = try read(.spiffe) ?? []
    result.keyLog = try read(.keyLog)
    result.cert = try read(.cert)
    result.key = try read(.key)
    result.proxy = try read(.proxy)
    let bypass: StringOrList? = try read(.noproxy)
    result.noProxy = bypass?.values.flatMap { $0.split(separator: ",").map(String.init) } ?? []
    let answers: StringOrList? = try read(.resolve)
    result.resolve = answers?.values ?? []
    result.unixSocket = try read(.unixSocket)
  }

  private static func headers(_ pairs: [[String]]) throws -> [(name: String, value: String)] {
    try pairs.map { pair in
      guard pair.count == 2 else {
        throw ConfigurationError(
          "the value of headers is not a list of [name, value] pairs", hint: "write them as JSON has them")
      }
      return (pair[0], pair[1])
    }
  }

  private static func body(text: String?, base64: String?) throws -> RequestSpecification.Body? {
    switch (text, base64) {
    case (nil, nil): return nil
    case (let text?, nil): return .bytes(Array(text.utf8))
    case (nil, let base64?):
      guard let data = Data(base64Encoded: base64) else {
        throw ConfigurationError("body_base64 is not base64", hint: "write it with + and /, and = at its end")
      }
      return .bytes(Array(data))
    default: throw ConfigurationError("body and body_base64 exclude each other", hint: "give one of them")
    }
  }
}

/// A string, or a list of strings.
private struct StringOrList: Decodable {
  var values: [String]

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let one = try? container.decode(String.self) {
      values = [one]
    } else {
      values = try container.decode([String].self)
    }
  }
}
