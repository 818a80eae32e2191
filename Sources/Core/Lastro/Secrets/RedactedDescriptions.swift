// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

// People print, interpolate and `dump` these types. Their descriptions and mirrors leave out secrets.

extension ProxyOptions: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The name of the case. A URL is shown without user and password.
  public var description: String {
    switch self {
    case .environment: "environment"
    case .environmentBypassing(let hosts): "environmentBypassing(\(hosts))"
    case .none: "none"
    case .url(let url, let bypass): "url(\(Self.masked(url)), bypass: \(bypass))"
    }
  }

  /// The same text as ``description``.
  public var debugDescription: String { description }

  /// A mirror without children, so that `dump` and debuggers show no secret.
  public var customMirror: Mirror { Mirror(self, children: [:]) }

  /// Returns the URL of a proxy without user and password. As in curl, the URL may have no scheme.
  package static func masked(_ url: String) -> String {
    guard let at = url.utf8.lastIndex(of: UInt8(ascii: "@")) else { return url }
    let scheme = url.firstRange(of: "://").map { url[..<$0.upperBound] } ?? ""
    return scheme + Redaction.mask + url[at...]
  }
}

extension TLSOptions.PEM: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The path or the number of bytes.
  public var description: String {
    switch self {
    case .file(let path): "file(\(path))"
    case .bytes(let bytes): "<\(bytes.count) bytes>"
    }
  }

  /// The same text as ``description``.
  public var debugDescription: String { description }

  /// A mirror without children, so that `dump` and debuggers show no secret.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension TLSOptions.Roots: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The name of the case. PEM text is shown as its number of bytes.
  public var description: String {
    switch self {
    case .system: "system"
    case .file(let path): "file(\(path))"
    case .directory(let path): "directory(\(path))"
    case .pem(let bytes): "pem(<\(bytes.count) bytes>)"
    }
  }

  /// The same text as ``description``.
  public var debugDescription: String { description }

  /// A mirror without children, so that `dump` and debuggers show no secret.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension TLSOptions.Identity: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The sources of the certificate and the key, and whether there is a password.
  public var description: String {
    "certificate: \(certificate)" + (key.map { ", key: \($0)" } ?? "")
      + (keyPassword == nil ? "" : ", keyPassword: \(Redaction.mask)")
  }

  /// The same text as ``description``.
  public var debugDescription: String { description }

  /// A mirror without children, so that `dump` and debuggers show no secret.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension RawHeaders: CustomDebugStringConvertible, CustomReflectable {
  /// The same text as ``description``.
  public var debugDescription: String { description }

  /// A mirror without children, so that `dump` and debuggers show no secret.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension RequestBody: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The kind and the length of the body, without its contents.
  public var description: String {
    switch source {
    case .empty: "no body"
    case .bytes(let data): "<\(data.count) bytes>"
    case .file(let path, let length):
      "<\(length) bytes of the file \(Redaction.standard.adding(secrets).secretsMasked(in: path))>"
    case .stream(let length, _, _): length.map { "<a stream of \($0) bytes>" } ?? "<a stream>"
    }
  }

  /// The same text as ``description``.
  public var debugDescription: String { description }

  /// A mirror without children, so that `dump` and debuggers show no secret.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension ResourceRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The method, the URL without the values of its query and the request's secrets, the names of the header fields, and
  /// the length of the body.
  public var description: String { head.redactedDescription(body: body, Redaction.standard.adding(self)) }

  /// The same text as ``description``.
  public var debugDescription: String { description }

  /// The options, and the request as in ``description``.
  public var customMirror: Mirror { Mirror(self, children: ["request": description, "options": options]) }
}

extension TransferRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The method, the URL without the values of its query and the request's secrets, the names of the header fields, and
  /// the length of the body.
  public var description: String { head.redactedDescription(body: body, Redaction.standard.adding(secrets)) }

  /// The same text as ``description``.
  public var debugDescription: String { description }

  /// The limits and the connection, and the request as in ``description``.
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
