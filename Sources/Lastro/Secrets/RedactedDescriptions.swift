// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

// What hangs in variables that people print, interpolate and `dump`: descriptions and mirrors without the secrets.

extension ProxyOptions: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The case; of an URL without user and password.
  public var description: String {
    switch self {
    case .environment: "environment"
    case .environmentBypassing(let hosts): "environmentBypassing(\(hosts))"
    case .none: "none"
    case .url(let url, let bypass): "url(\(Self.masked(url)), bypass: \(bypass))"
    }
  }

  /// As ``description``.
  public var debugDescription: String { description }

  /// Without children, so that `dump` and debuggers show no secret.
  public var customMirror: Mirror { Mirror(self, children: [:]) }

  /// The URL of a proxy without user and password. curl takes one without a scheme as well.
  package static func masked(_ url: String) -> String {
    guard let at = url.utf8.lastIndex(of: UInt8(ascii: "@")) else { return url }
    let scheme = url.firstRange(of: "://").map { url[..<$0.upperBound] } ?? ""
    return scheme + Redaction.mask + url[at...]
  }
}

extension TLSOptions.PEM: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The path, or the number of bytes.
  public var description: String {
    switch self {
    case .file(let path): "file(\(path))"
    case .bytes(let bytes): "<\(bytes.count) bytes>"
    }
  }

  /// As ``description``.
  public var debugDescription: String { description }

  /// Without children, so that `dump` and debuggers show no secret.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension TLSOptions.Roots: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The case; of PEM text the number of bytes.
  public var description: String {
    switch self {
    case .system: "system"
    case .file(let path): "file(\(path))"
    case .directory(let path): "directory(\(path))"
    case .pem(let bytes): "pem(<\(bytes.count) bytes>)"
    }
  }

  /// As ``description``.
  public var debugDescription: String { description }

  /// Without children, so that `dump` and debuggers show no secret.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension TLSOptions.Identity: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Where certificate and key lie, and whether there is a password.
  public var description: String {
    "certificate: \(certificate)" + (key.map { ", key: \($0)" } ?? "")
      + (keyPassword == nil ? "" : ", keyPassword: \(Redaction.mask)")
  }

  /// As ``description``.
  public var debugDescription: String { description }

  /// Without children, so that `dump` and debuggers show no secret.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension RawHeaders: CustomDebugStringConvertible, CustomReflectable {
  /// As ``description``.
  public var debugDescription: String { description }

  /// Without children, so that `dump` and debuggers show no secret.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension RequestBody: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Kind and length; not what is in it.
  public var description: String {
    switch source {
    case .empty: "no body"
    case .bytes(let data): "<\(data.count) bytes>"
    case .file(let path, let length):
      "<\(length) bytes of the file \(Redaction.standard.adding(secrets).secretsMasked(in: path))>"
    case .stream(let length, _, _): length.map { "<a stream of \($0) bytes>" } ?? "<a stream>"
    }
  }

  /// As ``description``.
  public var debugDescription: String { description }

  /// Without children, so that `dump` and debuggers show no secret.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension ResourceRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Method, URL without the values of its query and the request's secrets, names of the header fields, length of the
  /// body.
  public var description: String { head.redactedDescription(body: body, Redaction.standard.adding(self)) }

  /// As ``description``.
  public var debugDescription: String { description }

  /// The options; head and body only as ``description`` has them.
  public var customMirror: Mirror { Mirror(self, children: ["request": description, "options": options]) }
}

extension TransferRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Method, URL without the values of its query and the request's secrets, names of the header fields, length of the
  /// body.
  public var description: String { head.redactedDescription(body: body, Redaction.standard.adding(secrets)) }

  /// As ``description``.
  public var debugDescription: String { description }

  /// Limits and connection; head and body only as ``description`` has them.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "request": description, "connection": connection as Any, "delivery": delivery,
        "connectTimeout": connectTimeout as Any, "idleTimeout": idleTimeout as Any, "deadline": deadline as Any,
        "deadlineCode": deadlineCode, "allowsResend": allowsResend,
      ])
  }
}

extension HTTPRequest {
  fileprivate func redactedDescription(body: RequestBody, _ redaction: Redaction) -> String {
    "\(summary(redaction)), fields: [\(headerFields.map(\.name.rawName).joined(separator: ", "))], \(body)"
  }
}
