// SPDX-License-Identifier: Apache-2.0

import LastroTesting

/// The texts that samples have printed.
let transcript = EventRecorder<String>()

/// Prints and records a text. It shadows Swift's `print`, so that a page can compare the output of its samples with the
/// output shown in its guide. The parameters must be the same as in Swift's `print`, so that it is used for every call.
func print(_ items: Any..., separator: String = " ", terminator: String = "\n") {
  let text = items.map { "\($0)" }.joined(separator: separator)
  transcript.record(text)
  Swift.print(text, terminator: terminator)
}

/// Prints a text for the person who runs the pages, without recording it.
func say(_ text: String) { Swift.print(text) }
