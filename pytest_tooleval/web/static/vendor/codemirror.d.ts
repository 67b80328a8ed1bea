// As much of CodeMirror's types as json-editor.js needs to be checked.
type Extension = unknown;
type Made = (...given: any[]) => Extension;
export const autocompletion: Made, bracketMatching: Made, closeBrackets: Made, drawSelection: Made, highlightActiveLine: Made,
  highlightActiveLineGutter: Made, highlightSpecialChars: Made, history: Made, json: Made, lineNumbers: Made, lintGutter: Made,
  search: Made, syntaxHighlighting: Made;
export const closeBracketsKeymap: object[], completionKeymap: object[], defaultKeymap: object[], historyKeymap: object[],
  lintKeymap: object[], searchKeymap: object[];
export const indentWithTab: object;
export const indentUnit: { of(unit: string): Extension };
export const keymap: { of(bindings: object[]): Extension };
export const HighlightStyle: { define(rules: object[]): unknown };
export const tags: Record<"propertyName" | "string" | "number" | "bool" | "null", unknown>;
export function startCompletion(view: EditorView): boolean;
export function setDiagnostics(state: EditorState, found: object[]): object;
export class EditorState {
  static create(config: { doc: string; extensions: Extension[] }): EditorState;
  static readOnly: { of(isReadOnly: boolean): Extension };
  doc: { length: number; toString(): string };
}
export class EditorView {
  constructor(config: { parent: ShadowRoot; root: ShadowRoot });
  static contentAttributes: { of(attributes: Record<string, string>): Extension };
  static editable: { of(isEditable: boolean): Extension };
  static theme(rules: object): Extension;
  static updateListener: { of(listener: (update: { docChanged: boolean; transactions: { isUserEvent(name: string): boolean }[] }) => void): Extension };
  static scrollIntoView(at: number, options: { y: string }): unknown;
  state: EditorState;
  dispatch(...changes: object[]): void;
  setState(state: EditorState): void;
  focus(): void;
  destroy(): void;
}
