// SPDX-License-Identifier: Apache-2.0

/// What may stand between the size of a chunk and the end of its line (RFC 9112 §7.1.1), byte for byte:
/// `*( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] )`. It is dropped.
struct ChunkExtension {
  private enum State {
    /// Behind the size, or a whole extension: the line may end here.
    case whole
    /// White space that only another part can follow.
    case beforeSemicolon
    case beforeName
    case name
    case afterName
    case beforeValue
    case token
    case quoted
    case escaped
  }

  private var state = State.whole

  /// Whether the line may end here.
  var mayEnd: Bool {
    switch state {
    case .whole, .name, .token: true
    default: false
    }
  }

  /// Takes a byte of the line; false where it breaks the grammar.
  mutating func take(_ byte: UInt8) -> Bool {
    guard let next = next(byte) else { return false }
    state = next
    return true
  }

  private func next(_ byte: UInt8) -> State? {
    let isSpace = byte.isSpace
    switch (state, byte) {
    case (.quoted, 0x22): return .whole  // "
    case (.quoted, 0x5C): return .escaped
    case (.quoted, _), (.escaped, _): return isSpace || byte > 0x20 && byte != 0x7F ? .quoted : nil
    case (.whole, 0x3B), (.beforeSemicolon, 0x3B), (.name, 0x3B), (.afterName, 0x3B), (.token, 0x3B):
      return .beforeName
    case (.name, 0x3D), (.afterName, 0x3D): return .beforeValue
    case (.beforeValue, 0x22): return .quoted
    case (.whole, _), (.beforeSemicolon, _): return isSpace ? .beforeSemicolon : nil
    case (.token, _): return isSpace ? .beforeSemicolon : FieldSyntax.isToken(byte) ? .token : nil
    case (.name, _): return isSpace ? .afterName : FieldSyntax.isToken(byte) ? .name : nil
    case (.afterName, _): return isSpace ? .afterName : nil
    case (.beforeName, _): return isSpace ? .beforeName : FieldSyntax.isToken(byte) ? .name : nil
    case (.beforeValue, _): return isSpace ? .beforeValue : FieldSyntax.isToken(byte) ? .token : nil
    }
  }
}
