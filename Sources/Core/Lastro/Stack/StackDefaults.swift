// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// The base URL and the header fields that a stack adds to the requests of its resources.
struct StackDefaults: Sendable {
  private let base: RequestTarget?
  private let fields: HTTPFields

  /// Reads the defaults of a configuration; returns `nil` if there is nothing to add.
  init?(_ configuration: StackConfiguration) throws(TransportError) {
    guard configuration.baseURL != nil || !configuration.headers.fields.isEmpty else { return nil }
    base = try configuration.baseTarget()
    fields = try configuration.headers.checkedFields()
    // The fields are added to every request of the stack: a secret would be sent to unrelated servers.
    if let secret = fields.first(where: { Redaction.standard.isSecret($0.name) }) {
      throw .refused(
        .invalidHeader, "StackConfiguration.headers has \(secret.name), which would be sent to every server",
        hint: "add it by an interceptor, such as .apiKey(…), which sends it to its own servers only")
    }
  }

  /// Returns an error if the request is for the stack's base URL and the stack has none.
  static func lacksBase(_ request: ResourceRequest) -> TransportError? {
    guard request.head.authority == RequestTarget.stacksHost else { return nil }
    return .invalidURL(
      "the request's URL is relative to the stack's base URL, and the stack has none",
      hint: "set StackConfiguration.baseURL, declare the endpoint's baseURL, or begin the URL with https://")
  }

  /// Adds header fields that the request lacks, and replaces the base URL that it was made from with the stack's.
  func complete(_ request: inout ResourceRequest, madeOf old: String?) throws(TransportError) {
    let own = request.head.headerFields
    for field in fields where own[field.name] == nil {
      // A body sets its own type, and an empty body has none.
      if field.name == .contentType, request.body.contentType != nil || request.body.length == 0 { continue }
      request.head.headerFields.append(field)
    }
    guard let old, let base else { return }
    let replaced = try RequestTarget(old)
    let prefix = replaced.path.withoutSlashesAtEnd
    guard request.head.scheme == replaced.scheme, request.head.authority == replaced.authority,
      let path = request.head.path, path.hasPrefix(prefix),
      path.utf8.dropFirst(prefix.utf8.count).first.map({ $0 == 0x2F || $0 == 0x3F }) ?? true
    else {
      throw .invalidURL(
        "the endpoint's request is not below the endpoint's base URL, so the stack's base URL cannot replace it",
        hint: "make the request from baseURL, or leave StackConfiguration.baseURL out")
    }
    let rest = path.dropFirst(prefix.count)
    request.head.scheme = base.scheme
    request.head.authority = base.authority
    request.head.path = (rest.first == "/" ? String(base.path.withoutSlashesAtEnd) : base.path) + rest
  }
}

extension StackConfiguration {
  /// Parses the base URL.
  ///
  /// - Throws: stage `request`, code `invalid_url` or `unsupported_scheme`, with the name of the property.
  fileprivate func baseTarget() throws(TransportError) -> RequestTarget? {
    guard let baseURL else { return nil }
    do throws(TransportError) {
      let target = try RequestTarget(baseURL)
      if target.query != nil {
        throw .invalidURL("it has a query", hint: "give query items in the endpoint")
      }
      return target
    } catch {
      var error = error
      error.message = "StackConfiguration.baseURL cannot be used: \(error.message)"
      throw error
    }
  }

  /// Throws an error if the base URL cannot be used. For stacks whose initializer can throw.
  package func checkBaseURL() throws(ConfigurationError) {
    do throws(TransportError) {
      _ = try baseTarget()
    } catch {
      throw ConfigurationError(error.message, hint: error.hint)
    }
  }
}

extension String {
  fileprivate var withoutSlashesAtEnd: Substring { self[..<(lastIndex { $0 != "/" }.map(index(after:)) ?? startIndex)] }
}
