// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// Calls a handler once for SIGINT or SIGTERM, instead of ending the process. The next such signal ends it.
final class Signals {
  private static let numbers = [SIGINT, SIGTERM]
  private let sources: [any DispatchSourceSignal]

  init(_ handle: @escaping @Sendable () -> Void) {
    sources = Self.numbers.map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        Self.restoreActions()
        handle()
      }
      source.resume()
      return source
    }
  }

  /// Restores the default action of the signals.
  func restore() {
    for source in sources { source.cancel() }
    Self.restoreActions()
  }

  private static func restoreActions() { for number in numbers { signal(number, SIG_DFL) } }
}
