// SPDX-License-Identifier: Apache-2.0

public import Lastro

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A response to a Gemini request, of any status.
public struct GeminiResponse: Sendable {
  /// What answered, after redirects and answers to prompts.
  public var url: GeminiURL
  /// Status and meta.
  public var header: GeminiResponseHeader
  /// The body; empty unless the status is 2x, whatever the server sent.
  public var body: GeminiBody
  /// The URLs that redirects led to, in order; the last one is ``url``, unless a prompt was answered after it.
  public var redirects: [GeminiURL]
  /// What is known about the connection; `trust` says how the server was trusted.
  public var facts: StreamFacts

  /// Makes a response, as tests do.
  public init(
    url: GeminiURL, header: GeminiResponseHeader, body: GeminiBody = GeminiBody(Data()), redirects: [GeminiURL] = [],
    facts: StreamFacts = StreamFacts()
  ) {
    self.url = url
    self.header = header
    self.body = body
    self.redirects = redirects
    self.facts = facts
  }

  /// What the server says.
  public var status: GeminiStatus { header.status }
  /// What stands behind the status.
  public var meta: String { header.meta }
  /// The body of a 2x response when it is in memory, as after `fetchData`; else `nil`.
  public var data: Data? { status.isSuccess ? body.bytes : nil }

  /// The body in memory as text, in its charset: UTF-8 (repaired), US-ASCII or ISO-8859-1; `nil` for another one, for a
  /// body that is not text, and without one.
  public var text: String? {
    guard let data, let type = header.mediaType, type.essence.hasPrefix("text/") else { return nil }
    switch type.charset {
    case "utf-8", "utf8", "us-ascii", "ascii": return String(decoding: data, as: UTF8.self)
    case "iso-8859-1", "latin1":
      return String(String.UnicodeScalarView(data.map { Unicode.Scalar($0) }))
    default: return nil
    }
  }
}
