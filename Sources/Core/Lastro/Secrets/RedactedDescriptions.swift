// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

// People print, interpolate and `dump` these types. Their descriptions and mirrors leave out secrets.

extension ProxyOptions: CustomStringConvertible, CustomReflectable {
  /// The name of the case. A URL is shown without user and password.
  public var description: String {
    switch self {
    case .environment: "environment"
    case .environmentBypassing(let hosts): "environmentBypassing(\(hosts))"
    case .none: "none"
    case .url(let url, let bypass): "url(\(Self.masked(url)), bypass: \(bypass))"
    }
  }

  /// A mirror without children, so that `dump` and debuggers show no secret.
  public var customMirror: Mirror { Mirror(self, children: [:]) }

  /// Returns the URL of a proxy without user and password. As in curl, the URL may have no scheme.
  package static func masked(_ url: String) -> String {
    guard let at = url.utf8.lastIndex(of: UInt8(ascii: "@")) else { return url }
    let scheme = url.firstRange(of: "://").map { url[..<$0.upperBound] } ?? ""
    return scheme + Redaction.mask + url[at...]
  }
}

extension TLSOptions.PEM: CustomStringConvertible, CustomReflectable {
  /// The path or the number of bytes.
  public var description: String {
    switch self {
    case .file(let path): "file(\(path))"
    case .bytes(let bytes): "<\(bytes.count) bytes>"
    }
  }

  /// A mirror without children, so that `dump` and debuggers show no secret.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension TLSOptions.Roots: CustomStringConvertible, CustomReflectable {
  /// The name of the case. PEM text is shown as its number of bytes.
  public var description: String {
    switch self {
    case .system: "system"
    case .file(let path): "file(\(path))"
    case .directory(let path): "directory(\(path))"
    case .pem(let bytes): "pem(<\(bytes.count) bytes>)"
    }
  }

  /// A mirror without children, so that `dump` and debuggers show no secret.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension TLSOptions.Identity: CustomStringConvertible, CustomReflectable {
  /// The sources of the certificate and the key, and whether there is a password.
  public var description: String {
    "certificate: \(certificate)" + (key.map { ", key: \($0)" } ?? "")
      + (keyPassword == nil ? "" : ", keyPassword: \(Redaction.mask)")
  }

  /// A mirror without children, so that `dump` and debuggers show no secret.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension RawHeaders: CustomReflectable {
  /// A mirror without children, so that `dump` and debuggers show no secret.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension RequestBody: CustomStringConvertible, CustomReflectable {
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

  /// A mirror without children, so that `dump` and debuggers show no secret.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension ResourceRequest: CustomStringConvertible, CustomReflectable {
  /// The method, the URL without the values of its query and the request's secrets, the names of the header fields, and
  /// the length of the body.
  public var description: String { head.redactedDescription(body: body, Redaction.standard.adding(self)) }

  /// The options, and the request as in ``description``.
  public var customMirror: Mirror { Mirror(self, children: ["request": description, "options": options]) }
}

extension TransferRequest: CustomStringConvertible, CustomReflectable {
  /// The method, the URL without the values of its query and the request's secrets, the names of the header fields, and
  /// the length of the body.
  public var description: String { head.redactedDescription(body: body, Redaction.standard.adding(secrets)) }

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

// Responses and failures are printed, interpolated and passed to `dump`. They may contain secrets, because a server may
// repeat the request.

extension ResourceResponse: CustomStringConvertible, CustomReflectable {
  /// The status, the URL and the header fields, masked.
  public var description: String {
    "\(status.code) from \(redaction.url(url)), fields: \(redaction.values(of: headerFields))"
  }

  /// The response as its description, with the attempts and the facts. URLs are masked.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "response": description, "redirects": redirects.map { redaction.url($0) }, "attempts": attempts, "facts": facts,
      ])
  }
}

extension Attempt: CustomDebugStringConvertible, CustomReflectable {
  /// The outcome, the status, the error, the wait, the reason, the redirects and the facts on one line, with URLs
  /// masked.
  public var debugDescription: String {
    let children = customMirror.children.map { "\($0.label ?? ""): \($0.value)" }
    return "Attempt(\(children.joined(separator: ", ")))"
  }

  /// The outcome, the status, the error, the wait, the reason, the redirects and the facts, with URLs masked.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "outcome": outcome.rawValue, "status": status.map { "\($0.code)" } ?? "none",
        "error": error?.description ?? "none", "requestSent": requestSent, "delay": delay,
        "reason": redaction.text(reason), "redirects": redirects.map { redaction.url($0) },
        "facts": facts.map { "\($0)" } ?? "none",
      ])
  }
}

extension TransportError: CustomReflectable {
  /// The description, the engine code, whether the request was sent, the facts, and the status of ``head`` without its
  /// header fields.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "error": description, "engineCode": engineCode as Any, "requestSent": requestSent, "facts": facts as Any,
        "status": head?.status.code as Any,
      ])
  }
}

extension DecodeFailure: CustomReflectable {
  /// The description and the snippet. It leaves out the decoder's error, which may quote the payload.
  public var customMirror: Mirror {
    Mirror(self, children: ["failure": description, "snippet": snippet?.text ?? "none"])
  }
}

extension TransferResponse: CustomStringConvertible, CustomReflectable {
  /// The status, the names of the header fields, and the kind of body.
  public var description: String {
    "\(head.status.code), fields: [\(head.headerFields.map(\.name.rawName).joined(separator: ", "))], \(body)"
  }

  /// The facts, and the response as in ``description``.
  public var customMirror: Mirror { Mirror(self, children: ["response": description, "facts": facts]) }
}

extension ResponseBody: CustomStringConvertible, CustomReflectable {
  /// The kind and the length of the body, without its contents.
  public var description: String { bytes.map { "<\($0.count) bytes>" } ?? "<a stream>" }

  /// A mirror without children, so that `dump` and debuggers show no secret.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension FetchEvent.Answer: CustomStringConvertible, CustomReflectable {
  /// The masked response, and the number of bytes.
  public var description: String { "\(response)" + (body.map { ", <\($0.count) bytes>" } ?? "") }

  /// The response, without the contents of the body.
  public var customMirror: Mirror { Mirror(self, children: ["response": response]) }
}

extension TextAPIError: CustomReflectable {
  /// A mirror without children, so that `dump` and debuggers show no secret.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension RawAPIError: CustomReflectable {
  /// A mirror without children, so that `dump` and debuggers show no secret.
  package var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension Redaction {
  fileprivate func values(of fields: HTTPFields) -> String {
    "[" + fields.map { "\($0.name.rawName): \(value(of: $0))" }.joined(separator: ", ") + "]"
  }
}
