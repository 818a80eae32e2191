// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The duration of soaks, from `LASTRO_SOAK` of the environment.
package enum SoakTime {
  /// The minutes; 0 without the variable, when soaks are a few rounds.
  package static let minutes = ProcessInfo.processInfo.environment["LASTRO_SOAK"].flatMap { Int($0) } ?? 0
}
