// SPDX-License-Identifier: Apache-2.0

/// A validator for the text between a chunk's size and the end of its line, which it reads byte by byte (RFC 9112
/// §7.1.1): `*( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] )`. Extensions are ignored.
struct ChunkExtension {
  private enum State {
    /// After the size or a complete extension. The line may end here.
    case whole
    /// After white space that another extension must follow.
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

  /// Consumes a byte of the line. Returns false if it violates the grammar.
  mutating func consume(_ byte: UInt8) -> Bool {
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
