// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro

/// A response to a Gemini request, of any status.
public struct GeminiResponse: Sendable {
  /// The URL that responded, after redirects and answered prompts.
  public var url: GeminiURL
  /// The status and its meta text.
  public var header: GeminiResponseHeader
  /// The body; always empty unless the status is 2x.
  public var body: GeminiBody
  /// The URLs of the redirects that were followed, in order; the last one is ``url``, unless a prompt was answered
  /// after it.
  public var redirects: [GeminiURL]
  /// The facts about the connection; `trust` has the verdict on the server.
  public var facts: StreamFacts

  /// Creates a response, for tests.
  package init(
    url: GeminiURL, header: GeminiResponseHeader, body: GeminiBody = GeminiBody(Data()), redirects: [GeminiURL] = [],
    facts: StreamFacts = StreamFacts()
  ) {
    self.url = url
    self.header = header
    self.body = body
    self.redirects = redirects
    self.facts = facts
  }

  /// The status of the response.
  public var status: GeminiStatus { header.status }
  /// The text after the status.
  public var meta: String { header.meta }
  /// The body of a 2x response, if it is in memory, as after `fetchData`; else `nil`.
  public var data: Data? { status.isSuccess ? body.bytes : nil }

  /// The body in memory as text, in its charset: UTF-8 (repaired), US-ASCII or ISO-8859-1. `nil` for any other charset,
  /// for a body that is not text, and if there is none.
  public var text: String? {
    guard let data, let type = header.parsedMediaType, type.essence.hasPrefix("text/") else { return nil }
    switch type.charset {
    case "utf-8", "utf8", "us-ascii", "ascii": return String(decoding: data, as: UTF8.self)
    case "iso-8859-1", "latin1":
      return String(String.UnicodeScalarView(data.map { Unicode.Scalar($0) }))
    default: return nil
    }
  }
}
