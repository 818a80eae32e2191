// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

// People print, interpolate and `dump` these types. Their descriptions and mirrors leave out secrets.

extension ProxyOptions: CustomStringConvertible, MaskedMirror {
  /// The name of the case. A URL is shown without user and password.
  public var description: String {
    switch self {
    case .environment: "environment"
    case .environmentBypassing(let hosts): "environmentBypassing(\(hosts))"
    case .none: "none"
    case .url(let url, let bypass): "url(\(Self.masked(url)), bypass: \(bypass))"
    }
  }

  /// Returns the URL of a proxy without user and password. As in curl, the URL may have no scheme.
  package static func masked(_ url: String) -> String {
    guard let at = url.utf8.lastIndex(of: UInt8(ascii: "@")) else { return url }
    let scheme = url.firstRange(of: "://").map { url[..<$0.upperBound] } ?? ""
    return scheme + Redaction.mask + url[at...]
  }
}

extension TLSOptions.PEM: CustomStringConvertible, MaskedMirror {
  /// The path or the number of bytes.
  public var description: String {
    switch self {
    case .file(let path): "file(\(path))"
    case .bytes(let bytes): "<\(bytes.count) bytes>"
    }
  }
}

extension TLSOptions.Roots: CustomStringConvertible, MaskedMirror {
  /// The name of the case. PEM text is shown as its number of bytes.
  public var description: String {
    switch self {
    case .system: "system"
    case .file(let path): "file(\(path))"
    case .directory(let path): "directory(\(path))"
    case .pem(let bytes): "pem(<\(bytes.count) bytes>)"
    }
  }
}

extension TLSOptions.Identity: CustomStringConvertible, MaskedMirror {
  /// The sources of the certificate and the key, and whether there is a password.
  public var description: String {
    "certificate: \(certificate)" + (key.map { ", key: \($0)" } ?? "")
      + (keyPassword == nil ? "" : ", keyPassword: \(Redaction.mask)")
  }
}

extension RotatingIdentity: CustomStringConvertible, MaskedMirror {
  /// The sources of the current certificate and key, and whether there is a password.
  public var description: String { "\(TLSOptions.Identity(self))" }
}

extension RawHeaders: MaskedMirror {}

extension RequestBody: CustomStringConvertible, MaskedMirror {
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
}

extension ResourceRequest: CustomStringConvertible, MaskedMirror {
  /// The method, the URL without the values of its query and the request's secrets, the names of the header fields, and
  /// the length of the body.
  public var description: String { head.redactedDescription(body: body, Redaction.standard.adding(self)) }

  /// The options, and the request as in ``description``.
  package var shownChildren: KeyValuePairs<String, Any> { ["request": description, "options": options] }
}

extension TransferRequest: CustomStringConvertible, MaskedMirror {
  /// The method, the URL without the values of its query and the request's secrets, the names of the header fields, and
  /// the length of the body.
  public var description: String { head.redactedDescription(body: body, Redaction.standard.adding(secrets)) }

  /// The limits and the connection, and the request as in ``description``.
  package var shownChildren: KeyValuePairs<String, Any> {
    [
      "request": description, "connection": connection as Any, "delivery": delivery,
      "connectTimeout": connectTimeout as Any, "idleTimeout": idleTimeout as Any, "deadline": deadline as Any,
      "deadlineCode": deadlineCode, "allowsResend": allowsResend,
    ]
  }
}

extension HTTPRequest {
  fileprivate func redactedDescription(body: RequestBody, _ redaction: Redaction) -> String {
    "\(summary(redaction)), fields: [\(headerFields.map(\.name.rawName).joined(separator: ", "))], \(body)"
  }
}

// Responses and failures are printed, interpolated and passed to `dump`. They may contain secrets, because a server may
// repeat the request.

extension ResourceResponse: CustomStringConvertible, MaskedMirror {
  /// The status, the URL and the header fields, masked.
  public var description: String {
    "\(status.code) from \(redaction.url(url)), fields: \(redaction.values(of: headerFields))"
  }

  /// The response as its description, with the attempts and the facts. URLs are masked.
  package var shownChildren: KeyValuePairs<String, Any> {
    [
      "response": description, "redirects": redirects.map { redaction.url($0) }, "attempts": attempts, "facts": facts,
    ]
  }
}

extension Attempt: MaskedMirror {
  /// The outcome, the status, the error, the wait, the reason, the redirects and the facts, with URLs masked.
  package var shownChildren: KeyValuePairs<String, Any> {
    [
      "outcome": outcome.rawValue, "status": status.map { "\($0.code)" } ?? "none",
      "error": error?.description ?? "none", "requestSent": requestSent, "delay": delay,
      "reason": redaction.text(reason), "redirects": redirects.map { redaction.url($0) },
      "facts": facts.map { "\($0)" } ?? "none",
    ]
  }
}

extension TransportError: MaskedMirror {
  /// The description, the engine code, whether the request was sent, the facts, and the status of ``head`` without its
  /// header fields.
  package var shownChildren: KeyValuePairs<String, Any> {
    [
      "error": description, "engineCode": engineCode as Any, "requestSent": requestSent, "facts": facts as Any,
      "status": head?.status.code as Any,
    ]
  }
}

extension DecodeFailure: MaskedMirror {
  /// The description and the snippet. It leaves out the decoder's error, which may quote the payload.
  package var shownChildren: KeyValuePairs<String, Any> {
    ["failure": description, "snippet": snippet?.text ?? "none"]
  }
}

extension TransferResponse: CustomStringConvertible, MaskedMirror {
  /// The status, the names of the header fields, and the kind of body.
  public var description: String {
    "\(head.status.code), fields: [\(head.headerFields.map(\.name.rawName).joined(separator: ", "))], \(body)"
  }

  /// The facts, and the response as in ``description``.
  package var shownChildren: KeyValuePairs<String, Any> { ["response": description, "facts": facts] }
}

extension ResponseBody: CustomStringConvertible, MaskedMirror {
  /// The kind and the length of the body, without its contents.
  public var description: String { bytes.map { "<\($0.count) bytes>" } ?? "<a stream>" }
}

extension FetchEvent.Answer: CustomStringConvertible, MaskedMirror {
  /// The masked response, and the number of bytes.
  public var description: String { "\(response)" + (body.map { ", <\($0.count) bytes>" } ?? "") }

  /// The response, without the contents of the body.
  package var shownChildren: KeyValuePairs<String, Any> { ["response": response] }
}

extension TextAPIError: MaskedMirror {}

extension Redaction {
  fileprivate func values(of fields: HTTPFields) -> String {
    "[" + fields.map { "\($0.name.rawName): \(value(of: $0))" }.joined(separator: ", ") + "]"
  }
}
