package argocd

import (
	"github.com/yuin/gopher-lua/ast"
)

// Names of the functions that replace operators whose use of memory the virtual machine does not limit. A program
// cannot call them itself: they are not identifiers.
const (
	concatName = "concat ()"
	keyName    = "key ()"
)

// guardStatements replaces, in a program, a..b by a call of concatName, and a computed key at which a table is
// written by a call of keyName: a single instruction of the virtual machine may create a text of any length, or fill
// a table with nil up to an index of many millions.
func guardStatements(statements []ast.Stmt) {
	for _, s := range statements {
		guardStatement(s)
	}
}

// guardStatement guards the expressions and the nested statements of a statement, in place.
func guardStatement(statement ast.Stmt) {
	switch s := statement.(type) {
	case *ast.AssignStmt:
		guardAll(s.Lhs)
		guardAll(s.Rhs)
		for _, target := range s.Lhs {
			if field, ok := target.(*ast.AttrGetExpr); ok {
				field.Key = guardKey(field.Key)
			}
		}
	case *ast.LocalAssignStmt:
		guardAll(s.Exprs)
	case *ast.FuncCallStmt:
		s.Expr = guard(s.Expr)
	case *ast.DoBlockStmt:
		guardStatements(s.Stmts)
	case *ast.WhileStmt:
		s.Condition = guard(s.Condition)
		guardStatements(s.Stmts)
	case *ast.RepeatStmt:
		s.Condition = guard(s.Condition)
		guardStatements(s.Stmts)
	case *ast.IfStmt:
		s.Condition = guard(s.Condition)
		guardStatements(s.Then)
		guardStatements(s.Else)
	case *ast.NumberForStmt:
		s.Init, s.Limit, s.Step = guard(s.Init), guard(s.Limit), guard(s.Step)
		guardStatements(s.Stmts)
	case *ast.GenericForStmt:
		guardAll(s.Exprs)
		guardStatements(s.Stmts)
	case *ast.FuncDefStmt:
		guardStatements(s.Func.Stmts)
	case *ast.ReturnStmt:
		guardAll(s.Exprs)
	}
}

// guardAll guards each of the expressions, in place.
func guardAll(expressions []ast.Expr) {
	for i := range expressions {
		expressions[i] = guard(expressions[i])
	}
}

// guard returns the expression with its parts guarded; nil for nil.
func guard(expression ast.Expr) ast.Expr {
	switch e := expression.(type) {
	case *ast.StringConcatOpExpr:
		return call(concatName, e, guard(e.Lhs), guard(e.Rhs))
	case *ast.AttrGetExpr:
		e.Object, e.Key = guard(e.Object), guard(e.Key)
	case *ast.TableExpr:
		for _, field := range e.Fields {
			field.Value = guard(field.Value)
			if field.Key != nil {
				field.Key = guardKey(guard(field.Key))
			}
		}
	case *ast.FuncCallExpr:
		e.Func, e.Receiver = guard(e.Func), guard(e.Receiver)
		guardAll(e.Args)
	case *ast.LogicalOpExpr:
		e.Lhs, e.Rhs = guard(e.Lhs), guard(e.Rhs)
	case *ast.RelationalOpExpr:
		e.Lhs, e.Rhs = guard(e.Lhs), guard(e.Rhs)
	case *ast.ArithmeticOpExpr:
		e.Lhs, e.Rhs = guard(e.Lhs), guard(e.Rhs)
	case *ast.UnaryMinusOpExpr:
		e.Expr = guard(e.Expr)
	case *ast.UnaryNotOpExpr:
		e.Expr = guard(e.Expr)
	case *ast.UnaryLenOpExpr:
		e.Expr = guard(e.Expr)
	case *ast.FunctionExpr:
		guardStatements(e.Stmts)
	}
	return expression
}

// guardKey returns the key of a field that is written, guarded unless it is a constant name.
func guardKey(key ast.Expr) ast.Expr {
	if _, named := key.(*ast.StringExpr); named {
		return key
	}
	return call(keyName, key, key)
}

// call returns a call of a function, at the position of the expression that it replaces.
func call(name string, at ast.PositionHolder, arguments ...ast.Expr) ast.Expr {
	function := &ast.IdentExpr{Value: name}
	called := &ast.FuncCallExpr{Func: function, Args: arguments, AdjustRet: true}
	for _, node := range []ast.PositionHolder{function, called} {
		node.SetLine(at.Line())
		node.SetLastLine(at.LastLine())
	}
	return called
}
