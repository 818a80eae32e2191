// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Notices when a body that can be read only once has been opened.
final class BodyConsumption: Sendable {
  private let isOpened = Atomic(false)

  /// Whether the body was opened, so that it cannot be sent again.
  var isConsumed: Bool { isOpened.load(ordering: .acquiring) }

  /// The same body, watched.
  func watching(_ body: RequestBody) -> RequestBody {
    guard case .stream(let length, false, let open) = body.source else { return body }
    let source = RequestBody.Source.stream(length: length, isReplayable: false) {
      self.isOpened.store(true, ordering: .releasing)
      return open()
    }
    return RequestBody(source: source, contentType: body.contentType, secrets: body.secrets)
  }
}
