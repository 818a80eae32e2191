// SPDX-License-Identifier: Apache-2.0

/// What is measured.
public enum Scenario: String, Sendable, CaseIterable {
  /// GETs, a number of them in flight all the time, bodies collected in memory.
  case fetch
  /// GET of a large body, read chunk by chunk, one at a time.
  case download
  /// POST of a large body, written chunk by chunk, one at a time.
  case upload
  /// GETs, each on a new TLS connection with a full handshake.
  case handshakes
  /// ``fetch`` while many connections to other addresses are idle.
  case idle
  /// ``fetch``, and a JSON document is decoded each time.
  case json
  /// Requests that are never answered, all cancelled at once.
  case cancel
}
