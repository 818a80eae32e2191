// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro

extension ResourceRequest {
  /// Sets `Accept`, unless the caller has set it.
  mutating func askForJSONLines() {
    guard head.headerFields[.accept] == nil else { return }
    head.headerFields[.accept] = "application/x-ndjson, application/jsonl, application/json;q=0.5"
  }
}
