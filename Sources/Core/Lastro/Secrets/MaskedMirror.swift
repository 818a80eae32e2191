// SPDX-License-Identifier: Apache-2.0

/// A type whose stored properties may contain secrets, or bytes that nobody reads. `dump` and debuggers show only
/// ``shownChildren``.
package protocol MaskedMirror: CustomReflectable {
  /// The children of the mirror, with secrets masked. Default none.
  var shownChildren: KeyValuePairs<String, Any> { get }
}

extension MaskedMirror {
  package var shownChildren: KeyValuePairs<String, Any> { [:] }

  /// A mirror without secrets, for `dump` and debuggers.
  public var customMirror: Mirror { Mirror(self, children: shownChildren) }
}
