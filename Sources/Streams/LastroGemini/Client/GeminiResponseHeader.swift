// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The header of a Gemini response.
public struct GeminiResponseHeader: Sendable, Hashable {
  /// The status.
  public var status: GeminiStatus
  /// The text after the status; may be empty. UTF-8, without control characters, at most 1,024 bytes.
  public var meta: String

  /// Creates a header.
  package init(status: GeminiStatus, meta: String) {
    self.status = status
    self.meta = meta
  }

  /// The time that status 44 asks to wait, at most a day; `nil` for other statuses, and if `meta` is not a number of
  /// seconds.
  public var slowDown: Duration? {
    guard status == .slowDown, !meta.isEmpty, meta.utf8.count <= 18, meta.utf8.allSatisfy(\.isDigit),
      let seconds = Int64(meta)
    else { return nil }
    return .seconds(min(seconds, 86_400))
  }

  /// The media type of the body of a 2x response in lower case and without parameters, such as `text/plain`;
  /// `text/gemini` if `meta` is empty; `nil` for other statuses. Parameters are in `meta`.
  public var mediaType: String? { parsedMediaType?.essence }

  /// The media type of the body of a 2x response with its parameters; `text/gemini; charset=utf-8` if `meta` is empty;
  /// `nil` for other statuses.
  package var parsedMediaType: GeminiMediaType? { status.isSuccess ? GeminiMediaType(meta) : nil }
}
