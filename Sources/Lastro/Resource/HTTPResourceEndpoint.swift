// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
public import HTTPTypes

/// Where a resource is, in parts; usually a case of an enum, one enum for each API.
///
/// ``makeRequest()`` puts the parts together:
///
/// | part | rule |
/// |---|---|
/// | `baseURL` | absolute, `http` or `https`, no user information; its path, query and percent-encoding are kept; its fragment is dropped |
/// | `path` | joined to the base's path by exactly one `/`; inner `//`, a trailing `/` and valid `%XX` are kept; `?`, `#`, a stray `%` and what a path cannot have are encoded |
/// | `queryItems` | behind those of the base, in order, duplicates kept; everything but `A–Z a–z 0–9 - . _ ~` is encoded, `+` and space too; `[]` adds nothing |
/// | `headers` | checked on the raw text |
/// | `makeBody()` | its content type is set where `headers` have none |
public protocol HTTPResourceEndpoint: Sendable {
  /// Default GET.
  var method: HTTPRequest.Method { get }
  /// The API's address.
  var baseURL: URL { get }
  /// Path below the base. Default `nil`: the base itself.
  var path: String? { get }
  /// Query behind that of the base. Default `nil`.
  var queryItems: [URLQueryItem]? { get }
  /// Header fields. Default `nil`.
  var headers: RawHeaders? { get }
  /// What the request asks of the stack. Default: nothing.
  var options: RequestOptions { get }
  /// Makes the body, once an attempt. Default: none. What it throws is the cause of a `noRequest` failure.
  func makeBody() throws -> RequestBody?
  /// Makes the request, once an attempt.
  ///
  /// - Throws: ``TransportError`` of stage `request`, and what ``makeBody()`` throws.
  func makeRequest() throws -> ResourceRequest
}

extension HTTPResourceEndpoint {
  /// GET.
  public var method: HTTPRequest.Method { .get }
  /// None.
  public var path: String? { nil }
  /// None.
  public var queryItems: [URLQueryItem]? { nil }
  /// None.
  public var headers: RawHeaders? { nil }
  /// Nothing.
  public var options: RequestOptions { RequestOptions() }
  /// None.
  public func makeBody() throws -> RequestBody? { nil }

  /// Puts the parts together, as the table above says.
  public func makeRequest() throws -> ResourceRequest {
    var target = try RequestTarget(baseURL.absoluteString)
    if let path { target.append(path: path) }
    if let queryItems, !queryItems.isEmpty { target.append(queryItems) }
    return ResourceRequest(
      target: target, method: method, fields: try headers?.checkedFields() ?? HTTPFields(),
      body: try makeBody() ?? .empty, options: options)
  }
}

extension RequestTarget {
  mutating func append(path addition: String) {
    let encoded = PercentEncoding.encode(addition, keepsTriplets: true, where: ByteClass.isPath)
    switch (path.hasSuffix("/"), encoded.hasPrefix("/")) {
    case (true, true): path += encoded.dropFirst()
    case (false, false) where !encoded.isEmpty: path += "/" + encoded
    default: path += encoded
    }
  }

  mutating func append(_ items: [URLQueryItem]) {
    func encoded(_ text: String) -> String {
      PercentEncoding.encode(text, keepsTriplets: false, where: ByteClass.isUnreserved)
    }
    let addition = items.map { item in
      item.value.map { "\(encoded(item.name))=\(encoded($0))" } ?? encoded(item.name)
    }.joined(separator: "&")
    if let existing = query, !existing.isEmpty {
      query = existing + "&" + addition
    } else {
      query = addition
    }
  }
}
