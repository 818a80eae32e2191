// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro

/// A response to a Gemini request, of any status.
public struct GeminiResponse: Sendable {
  /// The URL that responded, after redirects and answered prompts.
  public var url: GeminiURL
  /// The status and its meta text.
  public var header: GeminiResponseHeader
  /// The body of a response of any status.
  package var content: GeminiBody
  /// The URLs of the redirects that were followed, in order; the last one is ``url``, unless a prompt was answered
  /// after it.
  public var redirects: [GeminiURL]
  /// The facts about the connection; `trust` has the verdict on the server.
  public var facts: StreamFacts

  /// The status of the response.
  public var status: GeminiStatus { header.status }
  /// The text after the status.
  public var meta: String { header.meta }

  /// The pieces of the body, none of them empty; no pieces unless the status is 2x.
  ///
  /// The body is a stream with back-pressure that a single reader consumes once: a second reader gets only the bytes
  /// that the first has left. Apart from a small buffer, only the bytes that the reader requests are read from the
  /// network. Dropping the response and its body closes the connection. The body is complete if the server closes TLS
  /// in order. An end without close_notify throws stage `response`, code `truncated_body`, after all bytes that arrived
  /// before it.
  public var body: some AsyncSequence<Data, GeminiError> & Sendable { content }

  /// The lines of a body of gemtext as they arrive, with the back-pressure and the errors of ``body``. If an error cuts
  /// a line short, the partial line is returned before the error is thrown.
  ///
  /// Lines end in LF or CRLF, and are split after 64 KiB. A byte order mark at the start is dropped, and bytes that are
  /// not UTF-8 become U+FFFD. The text is that of the server, including control characters;
  /// ``GemtextLine/plainText(width:linkNumber:)`` makes them harmless for terminals.
  public var gemtext: some AsyncSequence<GemtextLine, GeminiError> & Sendable { GemtextLines(body: content) }

  /// Whether the body ended without close_notify and ``GeminiConfiguration/toleratesTruncation`` accepted that. For a
  /// stream, the value is final only at its end.
  public var isTruncated: Bool { content.isTruncated }

  /// Reads the whole body, and returns the response with its body in memory.
  ///
  /// - Parameter limit: the maximum number of bytes. Default 16 MiB.
  /// - Throws: ``GeminiError``: stage `limit`, code `body_too_large`, if there are more bytes, in which case the
  ///   connection is closed; otherwise the error that reading throws.
  public func collected(upTo limit: Int = 16 << 20) async throws(GeminiError) -> GeminiResponse {
    do throws(GeminiError) {
      let data = try await content.collect(upTo: limit)
      var response = self
      response.content = GeminiBody(data, isTruncated: content.isTruncated)
      return response
    } catch {
      var error = error
      error.url = url
      error.header = header
      error.redirects = redirects
      throw error
    }
  }

  /// The body of a 2x response, if it is in memory, as after ``collected(upTo:)``; else `nil`.
  public var data: Data? { status.isSuccess ? content.bytes : nil }

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
