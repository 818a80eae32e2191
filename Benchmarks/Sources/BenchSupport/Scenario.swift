// SPDX-License-Identifier: Apache-2.0

/// A scenario to measure.
public enum Scenario: String, Sendable, CaseIterable {
  /// GET requests with a constant number in flight, whose bodies are collected in memory.
  case fetch
  /// GET requests for a large body, one at a time, read chunk by chunk.
  case download
  /// POST requests with a large body, one at a time, written chunk by chunk.
  case upload
  /// GET requests, each on a new TLS connection with a full handshake.
  case handshakes
  /// ``fetch`` while many connections to other addresses are idle.
  case idle
  /// ``fetch``, with a JSON document decoded for each request.
  case json
  /// Requests that never receive a response, all cancelled at once.
  case cancel
}
