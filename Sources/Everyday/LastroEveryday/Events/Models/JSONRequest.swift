// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro

extension ResourceRequest {
  /// Sets `Accept` for the framing, unless the caller has set it.
  mutating func askForJSON(_ framing: JSONStreamOptions.Framing) {
    guard head.headerFields[.accept] == nil else { return }
    head.headerFields[.accept] =
      switch framing {
      case .lines: "application/x-ndjson, application/jsonl, application/json;q=0.5"
      case .textSequence: "application/json-seq"
      }
  }
}
