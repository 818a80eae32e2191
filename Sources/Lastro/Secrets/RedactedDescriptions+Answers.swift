// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

// Answers and failures in variables that people print, interpolate and `dump`: a server repeats what it was sent.

extension ResourceResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Status, URL and header fields, masked.
  public var description: String {
    "\(status.code) from \(redaction.url(url)), fields: \(redaction.values(of: headerFields))"
  }

  /// As ``description``.
  public var debugDescription: String { description }

  /// Attempts and facts; head and URLs only masked.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "response": description, "redirects": redirects.map { redaction.url($0) }, "attempts": attempts, "facts": facts,
      ])
  }
}

extension Attempt: CustomDebugStringConvertible, CustomReflectable {
  /// All of it on one line; URLs masked.
  public var debugDescription: String {
    let children = customMirror.children.map { "\($0.label ?? ""): \($0.value)" }
    return "Attempt(\(children.joined(separator: ", ")))"
  }

  /// All of it; URLs masked.
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

extension TransportError: CustomDebugStringConvertible, CustomReflectable {
  /// As ``description``.
  public var debugDescription: String { description }

  /// All but the header fields of ``head``.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "error": description, "engineCode": engineCode as Any, "requestSent": requestSent, "facts": facts as Any,
        "status": head?.status.code as Any,
      ])
  }
}

extension DecodeFailure: CustomDebugStringConvertible, CustomReflectable {
  /// As ``description``.
  public var debugDescription: String { description }

  /// Description and snippet; not what the decoder threw, which may quote the payload.
  public var customMirror: Mirror {
    Mirror(self, children: ["failure": description, "snippet": snippet?.text ?? "none"])
  }
}

extension TransferResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Status, names of the header fields, kind of the body.
  public var description: String {
    "\(head.status.code), fields: [\(head.headerFields.map(\.name.rawName).joined(separator: ", "))], \(body)"
  }

  /// As ``description``.
  public var debugDescription: String { description }

  /// The facts; head and body only as ``description`` has them.
  public var customMirror: Mirror { Mirror(self, children: ["response": description, "facts": facts]) }
}

extension ResponseBody: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Kind and length; not what is in it.
  public var description: String { bytes.map { "<\($0.count) bytes>" } ?? "<a stream>" }

  /// As ``description``.
  public var debugDescription: String { description }

  /// Without children, so that `dump` and debuggers show no secret.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension FetchEvent.Answer: CustomStringConvertible, CustomReflectable {
  /// The response, masked, and the number of bytes.
  public var description: String { "\(response)" + (body.map { ", <\($0.count) bytes>" } ?? "") }

  /// The response; not what is in the body.
  public var customMirror: Mirror { Mirror(self, children: ["response": response]) }
}

extension TextAPIError: CustomReflectable {
  /// Without children, so that `dump` and debuggers show no secret.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension RawAPIError: CustomReflectable {
  /// Without children, so that `dump` and debuggers show no secret.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension Redaction {
  fileprivate func values(of fields: HTTPFields) -> String {
    "[" + fields.map { "\($0.name.rawName): \(value(of: $0))" }.joined(separator: ", ") + "]"
  }
}
