// SPDX-License-Identifier: Apache-2.0

import LastroTesting

/// What samples have printed.
let transcript = EventRecorder<String>()

/// Stands before Swift's, so that a page can compare what its samples print with what its guide shows. Only with the
/// same parameters is it taken for every call.
func print(_ items: Any..., separator: String = " ", terminator: String = "\n") {
  let text = items.map { "\($0)" }.joined(separator: separator)
  transcript.record(text)
  Swift.print(text, terminator: terminator)
}

/// Prints for the person who runs the pages.
func say(_ text: String) { Swift.print(text) }
